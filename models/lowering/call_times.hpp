// The times of the calls of a task graph that say how much they move, and not how long that takes.
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

/// Looks them up on the graph's cluster, which it must have; remembers the links of each list of a
/// group. Times are in nanoseconds; nothing where there is none, and `why` says so.
class CallTimes {
 public:
  explicit CallTimes(const TaskGraph& graph) : graph_(graph) {}

  /// Of the collective of an actor on `rank`, which is in its group.
  std::optional<std::int64_t> of(const CollectiveTemplate& collective, std::uint32_t rank,
                                 std::string* why);

  /// Of a call of a program on `rank`, whose size, peer and eagerness are in `spec`. The host's own
  /// calls (gloo, MPI) take no time unless their communicator says what it goes over: the links of
  /// devices are not theirs. Of an eager message the send takes the transfer and the receive the
  /// latency: together they are as long as one that is not.
  std::optional<std::int64_t> of(const CallTemplate& call, std::uint32_t rank,
                                 const sim::CallSpec& spec, std::string* why);

 private:
  std::optional<std::int64_t> of_collective(Operation operation, std::optional<Algorithm> algorithm,
                                            std::int64_t bytes, std::uint32_t group,
                                            std::uint32_t communicator, std::uint32_t rank,
                                            std::string* why);

  const TaskGraph& graph_;
  // By group, communicator (kNoIndex: one of its own) and list.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Route> routes_;
};

}  // namespace pipesim::models
