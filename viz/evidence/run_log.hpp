// What host threads would have written to a log before and after each launch.
#pragma once

#include <string>
#include <vector>

#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
#include "sim/engine.hpp"

namespace pipesim::viz {

/// The lines of all ranks, in the order in which they were written (docs/reference/rules.md, 3.6):
///
///     20.400 us [node0:1] main before: nccl-2108#1, stream backward, micro-batch 1
///
/// `outcome` is that of a run that kept its log.
std::string run_log(const models::TaskGraph& graph, const models::Lowered& lowered,
                    const sim::Outcome& outcome);

/// The same lines, those of each rank by themselves.
std::vector<std::string> run_logs(const models::TaskGraph& graph, const models::Lowered& lowered,
                                  const sim::Outcome& outcome);

}  // namespace pipesim::viz
