// The expectations that a scenario states about its run.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/graph/rank_set.hpp"
#include "models/graph/task_graph.hpp"
#include "models/result/end_names.hpp"
#include "models/result/explanation.hpp"
#include "models/result/memory.hpp"
#include "models/result/simulation.hpp"
#include "sim/fingerprint.hpp"

namespace pipesim::models {

/// A range of numbers, including both ends.
struct Bounds {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();

  static Bounds exactly(std::int64_t value) { return {value, value}; }
  bool contain(std::int64_t value) const { return least <= value && value <= most; }

  friend constexpr bool operator==(const Bounds&, const Bounds&) = default;
};

/// An expected value and its place in the file.
template <typename T>
struct Expected {
  Place place;
  T value;
};

/// The expected idle share of ranks.
struct ExpectedIdle {
  Place place;
  Bounds share;           // idle share in millionths, see idle_share()
  RankSet on;             // ranks that must each be in the range
  bool together = false;  // whether the range applies to all ranks together
};

/// The expected memory of a rank; among several ranks, of the rank that needs most.
struct ExpectedMemory {
  Place place;
  Bounds bytes;
  RankSet on;
  bool reserved = false;  // whether `bytes` means reserved memory instead of used memory
};

/// A named op.
struct ExpectedOp {
  Place place;
  std::optional<std::uint32_t> rank;
  std::string name;
  std::uint32_t number = 1;  // number of the op, from 1
};

/// An entry of `expect:`. Aspects without a value are not checked.
struct Expectation {
  Place place;
  std::vector<std::pair<std::string, std::string>> with;  // parameter settings of this entry
  std::optional<Expected<sim::Verdict>> verdict;
  std::optional<Expected<Cause>> cause;
  std::optional<Expected<Bounds>> time_ns;             // time of the last progress
  std::optional<Expected<std::int64_t>> cycle_length;  // number of waits on the cycle
  std::vector<Expected<std::string>> cycle_through;    // ops on the cycle, in any order
  std::optional<Expected<RankSet>> roots;              // ranks at which chains of waits end
  std::vector<ExpectedIdle> idle;
  std::vector<ExpectedMemory> memory;
  /// Ops that must start in the order of each list. If no op of a list names its rank, the order
  /// applies to each rank that has all ops of the list. Otherwise an op without a rank is on the
  /// rank of the previous op.
  std::vector<std::vector<ExpectedOp>> order;

  /// Whether the check needs a run with RunOptions::keep_op_times.
  bool needs_op_times() const { return !idle.empty() || !memory.empty() || !order.empty(); }
};

/// The aspect of a run that an expectation is about.
enum class Aspect : std::uint8_t {
  kVerdict,
  kCause,
  kTime,
  kCycleLength,
  kCycleThrough,
  kRoots,
  kIdle,
  kMemory,
  kOrder
};

/// One op of a violated order.
struct OrderedOp {
  std::uint32_t rank = 0;
  std::string name;
  std::uint32_t number = 0;
  bool exists = false;  // whether the rank has the op
  sim::Time start = sim::kNever;
};

/// An unmet expectation. The aspect decides which members are used.
struct Unmet {
  Aspect aspect = Aspect::kVerdict;
  Place place;
  std::string wanted;  // kVerdict, kCause: expected name; kCycleThrough: expected op
  std::string found;   // kVerdict, kCause: actual name
  /// Expected range. kTime: ns, kCycleLength: waits, kIdle: millionths, kMemory: bytes.
  Bounds bounds;
  std::int64_t number = 0;           // actual number, in the unit of `bounds`
  bool reserved = false;             // kMemory: whether reserved memory is meant
  bool sized = true;                 // kMemory: whether any size is known
  std::vector<std::uint32_t> ranks;  // kRoots: expected ranks; kIdle: affected ranks
  // kRoots: actual ranks; kMemory: ranks that need `number` bytes.
  std::vector<std::uint32_t> found_ranks;
  std::optional<OrderedOp> before;  // kOrder: op that must start first
  // kOrder: op that must not start before `before`; none: no rank has all ops.
  std::optional<OrderedOp> after;
};

/// Returns the aspects of `expectation` that the run of `graph` does not meet; empty if all are
/// met.
std::vector<Unmet> unmet(const Expectation& expectation, const TaskGraph& graph,
                         const Simulation& run);

/// Returns the maximum memory among the ranks of an expectation, in bytes; nullopt if `report` has
/// no data on these ranks.
std::optional<std::int64_t> memory_of(const ExpectedMemory& expected,
                                      const std::optional<MemoryReport>& report);

}  // namespace pipesim::models
