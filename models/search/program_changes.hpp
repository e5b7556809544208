// Changes of host programs that may remove a hang: what people do to a PyTorch or Megatron-LM
// script. Each is told by the place of its step in the scenario, which is also what a rank of the
// user's program does.
#pragma once

#include <vector>

#include "models/explain/explanation.hpp"
#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
#include "models/search/fix_candidates.hpp"

namespace pipesim::models {

/// Those near the waits of `explanation`, each once, the most local ones first: two calls that
/// change places or become one group, calls that all ranks make, or none, or in one order, and
/// arguments that all ranks have the same.
std::vector<Candidate> program_candidates(const TaskGraph& graph, const Lowered& lowered,
                                          const Explanation& explanation);

}  // namespace pipesim::models
