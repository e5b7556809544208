// Which collective call a rank leaves out. Calls of a communicator are matched by their order, so
// the one that hangs may be a later one that is like it.
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

/// A collective call as often as a rank makes it: that of act `k`, from 0, of its actor.
struct CallOfRank {
  sim::CallId call;
  std::uint32_t k = 0;
};

/// Those of a rank on a communicator, in the order of its host programs.
using CallsOfRank = std::vector<CallOfRank>;

/// A call that one rank makes and another does not.
struct MissingCall {
  std::size_t made = 0;  // index in the calls of the one
  std::size_t before =
      0;  // in those of the other: what it would come before; their number: nothing
};

/// The first call of `more` that the rank with the calls `fewer` leaves out. Calls of two ranks are
/// the same if they are one step of the scenario; where each rank has steps of its own, if they do
/// the same in the same place of the user's program.
std::optional<MissingCall> missing_call(const TaskGraph& graph, const Lowered& lowered,
                                        const CallsOfRank& more, const CallsOfRank& fewer);

/// The collective calls of all programs of a job, which must outlive it.
class CollectiveCalls {
 public:
  CollectiveCalls(const TaskGraph& graph, const Lowered& lowered);

  CallsOfRank of(sim::CommunicatorId communicator, std::uint32_t rank) const;

  /// By rank, ascending: how often `count` says that the actors of its calls have acted.
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
  std::vector<std::vector<sim::CallId>> calls_;      // by communicator
  std::vector<std::vector<sim::ThreadId>> threads_;  // by rank
};

}  // namespace pipesim::models
