// Where the trace of a run goes: one file, or one for each rank, plain or compressed.
#pragma once

#include <string>

#include "app/console.hpp"
#include "models/simulation.hpp"
#include "models/task_graph.hpp"
#include "models/timeline.hpp"

namespace pipesim::app {

/// Writes the trace to `path`: with `{rank}` in its name a file for each rank, compressed where it
/// ends with .gz; `-` is standard output. The run must have kept act times. Throws FileError.
void write_trace(const models::TaskGraph& graph, const models::Simulation& run,
                 const models::Timeline& timeline, const std::string& path, const Console& console);

}  // namespace pipesim::app
