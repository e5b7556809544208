// The command line of the program.
#pragma once

#include <string>
#include <vector>

#include "app/output/console.hpp"

namespace pipesim::app {

/// Runs the command line `words`, which lack the program's name. Returns the exit status. Catches
/// all of pipesim's own exceptions.
int run_command_line(const std::vector<std::string>& words, const Console& console);

}  // namespace pipesim::app
