// The log lines that host threads of a run would write before and after each launch.
#pragma once

#include <string>
#include <vector>

#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
#include "sim/engine.hpp"

namespace pipesim::viz {

/// Returns the lines of all ranks in the order of writing (docs/reference/rules.md, 3.6):
///
///     20.400 us [node0:1] main before: nccl-2108#1, stream backward, micro-batch 1
///
/// `outcome` must be from a run that kept its log.
std::string run_log(const models::TaskGraph& graph, const models::Lowered& lowered,
                    const sim::Outcome& outcome);

/// Returns the lines of run_log() for each rank, as one string per rank.
std::vector<std::string> run_logs(const models::TaskGraph& graph, const models::Lowered& lowered,
                                  const sim::Outcome& outcome);

}  // namespace pipesim::viz
