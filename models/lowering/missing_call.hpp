// Search for the collective call that a rank skips. Calls on a communicator match by their order,
// so the call that hangs can be a later one of the same kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"

namespace pipesim::models {

/// One execution of a collective call by a rank: the call of op `k`, from 0, of its actor.
struct CallOfRank {
  sim::CallId call;
  std::uint32_t k = 0;
};

/// The collective calls of a rank on a communicator, in the order of its host programs.
using CallsOfRank = std::vector<CallOfRank>;

/// A call that one rank makes and another rank does not.
struct MissingCall {
  std::size_t made = 0;  // index in the calls of the rank that makes it
  // Index in the other rank's calls: the call is missing before this call. At the end, the number
  // of calls.
  std::size_t before = 0;
};

/// Returns the first call of `more` that the rank with the calls `fewer` skips. Calls of two ranks
/// are the same if they are one step of the scenario. If each rank has its own steps, calls are the
/// same if their operation, arguments and place in the user's program agree.
std::optional<MissingCall> missing_call(const TaskGraph& graph, const Lowered& lowered,
                                        const CallsOfRank& more, const CallsOfRank& fewer);

/// The collective calls of all programs of a job. Keeps references to `graph` and `lowered`.
class CollectiveCalls {
 public:
  CollectiveCalls(const TaskGraph& graph, const Lowered& lowered);

  CallsOfRank of(sim::CommunicatorId communicator, std::uint32_t rank) const;

  /// Returns for each rank, in ascending order, the sum of `count` over the actors of its calls.
  template <typename Count>
  std::vector<std::pair<std::uint32_t, std::uint32_t>> made(sim::CommunicatorId communicator,
                                                            Count count) const {
    std::map<std::uint32_t, std::uint32_t> by_rank;
    for (const sim::CallId call : calls_[communicator.value]) {
      const sim::ActorId actor = lowered_.plan.calls[call].actor;
      by_rank[lowered_.plan.actors[actor].rank.value] += count(actor);
    }
    return {by_rank.begin(), by_rank.end()};
  }

 private:
  const TaskGraph& graph_;
  const Lowered& lowered_;
  std::vector<std::vector<sim::CallId>> calls_;      // indexed by communicator
  std::vector<std::vector<sim::ThreadId>> threads_;  // indexed by rank
};

}  // namespace pipesim::models
