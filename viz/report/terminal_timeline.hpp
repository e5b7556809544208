// A coarse timeline of a run as letters, as wide as a terminal.
#pragma once

#include <cstddef>
#include <string>

#include "models/graph/task_graph.hpp"
#include "models/result/simulation.hpp"
#include "models/result/timeline.hpp"

namespace pipesim::viz {

struct TerminalTimelineOptions {
  std::size_t columns = 100;  // width of the terminal; a smaller value than 60 counts as 60
  bool colour = false;        // whether to use ANSI codes
};

/// Draws a row per stream and host thread that is stuck, or has an op long enough to be visible.
/// Ranks with equal rows are merged. `timeline` has all ranks.
std::string terminal_timeline(const models::TaskGraph& graph, const models::Simulation& run,
                              const models::Timeline& timeline,
                              const TerminalTimelineOptions& options);

}  // namespace pipesim::viz
