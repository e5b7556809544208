// `pipesim diff`: two runs, or two settings of one scenario, side by side.
#pragma once

#include <string>
#include <vector>

#include "app/output/console.hpp"
#include "formats/scenario/scenario.hpp"

namespace pipesim::app {

/// One side: a scenario, a saved state, or a report of `pipesim run --json`.
struct DiffSide {
  std::string path;  // `-`: standard input
  std::vector<formats::Setting> settings;
};

struct DiffCommand {
  DiffSide before;
  DiffSide after;
  bool json = false;
  bool all = false;  // nothing is left out of long lists
};

/// Runs the command and returns its exit code. Throws FileError.
int run_diff(const DiffCommand& command, const Console& console);

}  // namespace pipesim::app
