// The differences between ranks of a recorded script, and their failures, as text.
#pragma once

#include <string>
#include <vector>

#include "models/graph/recorded.hpp"
#include "models/result/explanation.hpp"
#include "viz/report/styled.hpp"

namespace pipesim::viz {

/// Describes the first difference between the calls of the ranks: the call, and the lines at which
/// ranks make it. Also describes the first mismatched call if it comes later.
std::string first_difference_text(const models::FirstDifference& difference,
                                  const TextOptions& options);

/// Returns a block per group of failed ranks, and a block per rank in `waiting` with its current
/// line.
std::string failures_text(const std::vector<models::FailedRanks>& failures,
                          const std::vector<const models::RankReport*>& waiting,
                          const TextOptions& options);

}  // namespace pipesim::viz
