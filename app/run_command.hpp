// `pipesim run`: simulate a scenario and report.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/console.hpp"
#include "formats/scenario.hpp"

namespace pipesim::app {

struct RunCommand {
  std::string path;  // `-`: standard input
  std::vector<formats::Setting> settings;
  bool json = false;             // data instead of text on standard output
  bool all = false;              // every wait, not only the cycle
  bool list_parameters = false;  // only say what --set can set
  std::optional<std::string> dot_path;
};

/// Runs the command and returns its exit code. Throws FileError.
int run_run(const RunCommand& command, const Console& console);

}  // namespace pipesim::app
