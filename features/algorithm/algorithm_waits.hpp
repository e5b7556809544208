// Explains a stuck run of a collective algorithm, in the form that all hangs use.
#pragma once

#include <vector>

#include "models/result/explanation.hpp"
#include "sim/wait_graph.hpp"

#include "features/algorithm/algorithm_network.hpp"

namespace pipesim::models {

/// An explained hang: thread blocks are streams, and steps are ops.
struct AlgoHang {
  Explanation explanation;
  std::vector<Wait> waits;  // all waits, by thread block
};

/// Explains why `run` did not complete with `slots` slots. Each stuck thread block is a node, at
/// its current step. The node waits for each thread block that has to raise a counter, or for a
/// rank if no thread block raises the counter.
AlgoHang explain_hang(const CollectiveAlgorithm& algorithm, const AlgoNetwork& network,
                      const AlgoRun& run, std::uint32_t slots);

/// Describes the step of a node for reports.
OpInfo describe_step(const CollectiveAlgorithm& algorithm, const AlgoNetwork& network,
                     std::uint32_t node);

}  // namespace pipesim::models
