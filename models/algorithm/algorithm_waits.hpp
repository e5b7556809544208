// Who waits for whom where a run of a collective algorithm is stuck, in the words of every other
// run.
#pragma once

#include <vector>

#include "models/algorithm/algorithm_network.hpp"
#include "models/explain/explanation.hpp"
#include "sim/wait_graph.hpp"

namespace pipesim::models {

/// A thread block is a stream, and its steps are ops.
struct AlgoHang {
  Explanation explanation;
  std::vector<Wait> waits;  // all of them, in the order of thread blocks
};

/// `run` did not complete, with so many slots. Each thread block that is stuck is a node, at the
/// step that it is in; it waits for the thread block that has to raise a counter, or for a rank (of
/// what no thread block raises).
AlgoHang explain_hang(const CollectiveAlgorithm& algorithm, const AlgoNetwork& network,
                      const AlgoRun& run, std::uint32_t slots);

/// The step of a node as reports name it.
ActInfo describe_step(const CollectiveAlgorithm& algorithm, const AlgoNetwork& network,
                      std::uint32_t node);

}  // namespace pipesim::models
