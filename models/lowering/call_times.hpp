// Times of calls that state their size but not their duration.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "models/graph/task_graph.hpp"
#include "models/lowering/cost.hpp"
#include "sim/plan.hpp"

namespace pipesim::models {

/// A calculator of call times on the graph's cluster, which must exist. Caches the links of each
/// list of a group. Times are in nanoseconds. If a time cannot be computed, of() returns nullopt
/// and sets `why`.
class CallTimes {
 public:
  explicit CallTimes(const TaskGraph& graph) : graph_(graph) {}

  /// Returns the time of `collective`, which an actor on `rank` runs. `rank` must be in the group.
  std::optional<std::int64_t> of(const CollectiveTemplate& collective, std::uint32_t rank,
                                 std::string* why);

  /// Returns the time of a program's call on `rank`. `spec` holds the call's size and peer, and
  /// whether the call is buffered. Host calls (gloo, MPI) take no time unless their communicator
  /// names its links, because device links do not apply to them. A buffered send takes the transfer
  /// time, and its recv takes the latency; their sum equals the time of an unbuffered send.
  std::optional<std::int64_t> of(const CallTemplate& call, std::uint32_t rank,
                                 const sim::CallSpec& spec, std::string* why);

 private:
  std::optional<std::int64_t> of_collective(Operation operation, std::optional<Algorithm> algorithm,
                                            std::int64_t bytes, std::uint32_t group,
                                            std::uint32_t communicator, std::uint32_t rank,
                                            std::string* why);

  const TaskGraph& graph_;
  // Keyed by group, communicator (kNoIndex: the actor's own) and list.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Route> routes_;
};

}  // namespace pipesim::models
