// One fixed order of the collective calls of several communicators on all ranks. If each rank
// begins with a different communicator, swapping two calls on one rank is not enough.
#pragma once

#include <vector>

#include "features/fix/fix_candidates.hpp"

namespace pipesim::models {

/// Returns changes to a fixed order that may remove the hang in `explanation`, the end of a run of
/// `lowered`.
std::vector<Candidate> order_candidates(const TaskGraph& graph, const Lowered& lowered,
                                        const Explanation& explanation);

}  // namespace pipesim::models
