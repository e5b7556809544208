// The command line: which command, with which options.
#pragma once

#include <string>
#include <vector>

#include "app/output/console.hpp"

namespace pipesim::app {

/// Runs what `arguments` (without the program's name) ask for. Returns the exit code; catches our
/// own exceptions, so that none leaves it.
int run_command_line(const std::vector<std::string>& arguments, const Console& console);

}  // namespace pipesim::app
