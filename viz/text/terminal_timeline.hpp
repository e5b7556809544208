// A coarse timeline of a run in letters, as wide as a terminal.
#pragma once

#include <cstddef>
#include <string>

#include "models/explain/simulation.hpp"
#include "models/graph/task_graph.hpp"
#include "models/measure/timeline.hpp"

namespace pipesim::viz {

struct TerminalTimelineOptions {
  std::size_t columns = 100;  // of the terminal; what is less than 60 counts as that
  bool colour = false;        // ANSI codes
};

/// A row for each stream and host thread in which something is long enough to be seen, or which is
/// stuck; ranks whose rows are the same are one. `timeline` is of all ranks.
std::string terminal_timeline(const models::TaskGraph& graph, const models::Simulation& run,
                              const models::Timeline& timeline,
                              const TerminalTimelineOptions& options);

}  // namespace pipesim::viz
