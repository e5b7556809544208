// Changes of host programs that may remove a hang: typical edits of a PyTorch or Megatron-LM
// script. Changes refer to steps by their place in the scenario, which stands for a line of the
// user's program.
#pragma once

#include <vector>

#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
#include "models/result/explanation.hpp"

#include "features/fix/fix_candidates.hpp"

namespace pipesim::models {

/// Returns candidates near the waits of `explanation`, without duplicates, the most local
/// candidates first. Candidates swap or group two calls, make a call on all ranks or on none, fix
/// the order of calls, or equalize arguments.
std::vector<Candidate> program_candidates(const TaskGraph& graph, const Lowered& lowered,
                                          const Explanation& explanation);

}  // namespace pipesim::models
