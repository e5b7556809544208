// One order of the collective calls of several communicators on all ranks: where each rank begins
// with another one, no two calls that change places on one rank are enough.
#pragma once

#include <vector>

#include "models/search/fix_candidates.hpp"

namespace pipesim::models {

/// Orders that may remove the hang that `explanation`, of a run of `lowered`, tells.
std::vector<Candidate> order_candidates(const TaskGraph& graph, const Lowered& lowered,
                                        const Explanation& explanation);

}  // namespace pipesim::models
