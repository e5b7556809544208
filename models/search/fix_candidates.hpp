// The changes of a task graph that may remove a hang: from the waits of its cycle.
#pragma once

#include <cstdint>
#include <vector>

#include "models/explain/explanation.hpp"
#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
#include "models/search/fix.hpp"

namespace pipesim::models {

/// A change to try. Where it has a number, numbers from `change.number` to `most` are tried, and
/// the smallest that does is told.
struct Candidate {
  Change change;
  std::int64_t most = 0;   // 0: there is no number, or only this one
  std::int64_t least = 0;  // above 0: numbers down to it, if as many ops are left to do, and
                           // the largest that does is told
  bool doubling = false;   // only the doubles of the first number are tried
  std::vector<std::uint32_t> waits{};  // of the cycle: those that it is meant to break
};

/// Other values of the parameters, in their order.
std::vector<Candidate> switch_candidates(const std::vector<Switch>& switches);

/// Changes near the cycle of `explanation`, in its order, each once.
std::vector<Candidate> graph_candidates(const TaskGraph& graph, const Lowered& lowered,
                                        const Explanation& explanation);

}  // namespace pipesim::models
