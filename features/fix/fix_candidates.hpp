// Candidate changes that may remove a hang: other values of parameters, and changes of the task
// graph near the waits of the cycle.
#pragma once

#include <cstdint>
#include <vector>

#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
#include "models/result/explanation.hpp"

#include "features/fix/fix.hpp"

namespace pipesim::models {

/// A change to try. If the change has a number, fix tries the numbers from `change.number` to
/// `most` and reports the smallest that works.
struct Candidate {
  Change change;
  std::int64_t most = 0;  // largest number; 0: no number, or only `change.number`
  // Smallest number. If above 0, fix tries numbers down to `least` that leave the same number of
  // ops, and reports the largest that works.
  std::int64_t least = 0;
  bool doubling = false;  // whether fix tries only doubles of the first number
  // Indices in Explanation::cycle of the waits that the change should break.
  std::vector<std::uint32_t> waits{};
};

/// Returns candidates with other values of the parameters, in the order of `switches`.
std::vector<Candidate> switch_candidates(const std::vector<Switch>& switches);

/// Returns candidates near the cycle of `explanation`, in the order of the cycle, without
/// duplicates.
std::vector<Candidate> graph_candidates(const TaskGraph& graph, const Lowered& lowered,
                                        const Explanation& explanation);

}  // namespace pipesim::models
