// What a recorded script shows of its ranks.
#pragma once

#include <string>
#include <vector>

#include "models/explain/explanation.hpp"
#include "models/graph/recorded.hpp"
#include "viz/styled.hpp"

namespace pipesim::viz {

/// Where the calls of the ranks begin to differ: the call, and each side's line.
std::string first_difference_text(const models::FirstDifference& difference,
                                  const TextOptions& options);

/// Ranks that failed, and where those wait that `waiting` has: a block each.
std::string failures_text(const std::vector<models::FailedRanks>& failures,
                          const std::vector<const models::RankReport*>& waiting,
                          const TextOptions& options);

}  // namespace pipesim::viz
