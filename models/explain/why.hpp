// Why one act is not done: the chain of waits from it to where all waiting ends.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/explain/explanation.hpp"
#include "models/explain/simulation.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::models {

struct Why {
  ActInfo act;
  std::optional<sim::ActTimes> times;  // of one that is done
  /// The chain may begin at an earlier act of the same actor: acts are done in their order.
  std::optional<ActInfo> earlier;
  /// Of a step that its host has not come to: the one that the host is at, and the chain begins at.
  std::optional<ActInfo> host_at;
  /// Each one's `to` is the next one's `from`. It ends at a root, before a circle, or, empty, where
  /// the run did not come to rest.
  std::vector<Wait> chain;
  std::vector<Wait> circle;  // from where the chain comes into it; empty: it ends at a root
};

/// Of act `k` (from 0) of `actor`. The chain is a shortest one to the cycle of the explanation or
/// to a root; where neither is reached, the circle is another one. The run must have kept act
/// times.
Why why(const TaskGraph& graph, const Simulation& run, sim::ActorId actor, std::uint32_t k);

}  // namespace pipesim::models
