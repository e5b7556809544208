// Output of a run's trace: one file, or one per rank, plain or compressed.
#pragma once

#include <string>

#include "app/output/console.hpp"
#include "models/graph/task_graph.hpp"
#include "models/result/simulation.hpp"
#include "models/result/timeline.hpp"

namespace pipesim::app {

/// Writes the trace to `path`: one file per rank if the name contains `{rank}`, compressed if the
/// name ends in .gz; `-` is standard output. The run must have kept op times. Throws FileError.
void write_trace(const models::TaskGraph& graph, const models::Simulation& run,
                 const models::Timeline& timeline, const std::string& path, const Console& console);

}  // namespace pipesim::app
