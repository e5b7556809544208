// Writes the trace of a run: one file, or one per rank, plain or compressed.
#pragma once

#include <string>

#include "app/output/console.hpp"
#include "models/explain/simulation.hpp"
#include "models/graph/task_graph.hpp"
#include "models/measure/timeline.hpp"

namespace pipesim::app {

/// Writes the trace to `path`: one file per rank if its name contains `{rank}`, compressed if it
/// ends in .gz; `-` is standard output. The run must have kept act times. Throws FileError.
void write_trace(const models::TaskGraph& graph, const models::Simulation& run,
                 const models::Timeline& timeline, const std::string& path, const Console& console);

}  // namespace pipesim::app
