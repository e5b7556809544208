// What a scenario says should come out of it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/explain/end_names.hpp"
#include "models/explain/explanation.hpp"
#include "models/explain/simulation.hpp"
#include "models/graph/diagnostics.hpp"
#include "models/graph/rank_set.hpp"
#include "models/graph/task_graph.hpp"
#include "models/measure/memory.hpp"
#include "sim/fingerprint.hpp"

namespace pipesim::models {

/// What a number may be; both ends are allowed.
struct Bounds {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();

  static Bounds exactly(std::int64_t value) { return {value, value}; }
  bool contain(std::int64_t value) const { return least <= value && value <= most; }

  friend constexpr bool operator==(const Bounds&, const Bounds&) = default;
};

/// A value, and where the file says that it is expected.
template <typename T>
struct Expected {
  Place place;
  T value;
};

/// How idle ranks may be.
struct ExpectedIdle {
  Place place;
  Bounds share;           // in millionths, see idle_share()
  RankSet on;             // each of these
  bool together = false;  // or these taken together
};

/// How much memory a rank may need: of some ranks, the one that needs most.
struct ExpectedMemory {
  Place place;
  Bounds bytes;
  RankSet on;
  bool reserved = false;  // what is set aside, not what is in use
};

/// An act, by name.
struct ExpectedAct {
  Place place;
  std::optional<std::uint32_t> rank;
  std::string op;
  std::uint32_t act = 1;  // from 1
};

/// One entry of `expect:`. What is not said is not checked.
struct Expectation {
  Place place;
  std::vector<std::pair<std::string, std::string>> with;  // parameters that are set for it
  std::optional<Expected<sim::Verdict>> verdict;
  std::optional<Expected<Cause>> cause;
  std::optional<Expected<Bounds>> time_ns;             // the last progress
  std::optional<Expected<std::int64_t>> cycle_length;  // in waits
  std::vector<Expected<std::string>> cycle_through;    // ops that are on the cycle, in any order
  std::optional<Expected<RankSet>> roots;              // the ranks at which waits end
  std::vector<ExpectedIdle> idle;
  std::vector<ExpectedMemory> memory;
  /// Acts of each list start in its order. Where none of a list names its rank, that holds on each
  /// rank that has all of them; else one that names none is on the rank of the one before it.
  std::vector<std::vector<ExpectedAct>> order;

  /// True if only a run with RunOptions::keep_act_times can be held against it.
  bool needs_act_times() const { return !idle.empty() || !memory.empty() || !order.empty(); }
};

/// What an expectation is about.
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

/// One side of an order that is not kept.
struct OrderedAct {
  std::uint32_t rank = 0;
  std::string op;
  std::uint32_t act = 0;
  bool exists = false;  // there is such an act
  sim::Time start = sim::kNever;
};

/// Something that was expected and is not so. Which members are used depends on the aspect.
struct Unmet {
  Aspect aspect = Aspect::kVerdict;
  Place place;
  std::string wanted;  // kVerdict, kCause: the name; kCycleThrough: the op
  std::string found;   // kVerdict, kCause
  /// kTime: ns, kCycleLength: waits, kIdle: millionths, kMemory: bytes.
  Bounds bounds;
  std::int64_t number = 0;                 // and what was found instead
  bool reserved = false;                   // kMemory
  bool sized = true;                       // kMemory: false: nothing says how large it is
  std::vector<std::uint32_t> ranks;        // kRoots: that were expected; kIdle: which it is about
  std::vector<std::uint32_t> found_ranks;  // kRoots; kMemory: those that need so much
  std::optional<OrderedAct> before;        // kOrder: this should have started,
  std::optional<OrderedAct> after;         // and this not before it; nothing: no rank has them all
};

/// What of `expectation` the run of `graph` does not meet; empty if it meets all.
std::vector<Unmet> unmet(const Expectation& expectation, const TaskGraph& graph,
                         const Simulation& run);

/// What the ranks of an expectation need, in bytes: most of all of them. Nothing where nothing in
/// `report` is about them.
std::optional<std::int64_t> memory_of(const ExpectedMemory& expected,
                                      const std::optional<MemoryReport>& report);

}  // namespace pipesim::models
