// The reason why one op is not done: the chain of waits from the op to a root or a cycle.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/graph/task_graph.hpp"
#include "models/result/explanation.hpp"
#include "models/result/simulation.hpp"

namespace pipesim::models {

struct Why {
  OpInfo op;
  std::optional<sim::OpTimes> times;  // times of a completed op
  /// The start of the chain, if this is an earlier op of the same actor: an actor does its ops in
  /// order.
  std::optional<OpInfo> earlier;
  /// The start of the chain if the host has not reached the op: the host's current step.
  std::optional<OpInfo> host_at;
  /// The waits from the op to a root or to `cycle`; `to` of each wait is `from` of the next wait.
  /// The list is empty if the run is not quiescent.
  std::vector<Wait> chain;
  // The cycle, starting at the end of the chain; empty: the chain ends at a root.
  std::vector<Wait> cycle;
};

/// Explains op `k` (from 0) of `actor`. The chain is a shortest path to the cycle of the
/// explanation or to a root; if neither is reachable, `cycle` is another cycle. The run must have
/// kept the times of its ops.
Why why(const TaskGraph& graph, const Simulation& run, sim::ActorId actor, std::uint32_t k);

}  // namespace pipesim::models
