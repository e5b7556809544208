// Options and start of the commands of the Python recorder that run a script.
#pragma once

#include <string>

#include "app/commands/commands.hpp"

namespace pipesim::app {

/// Options that select the script's job: ranks, nodes, device, environment, interpreter.
OptionGroup script_options();

/// Runs `python3 -m pipesim.NAME` with the words of the command line. Never returns.
[[noreturn]] void become_script_command(const std::string& name, const Arguments& arguments,
                                        const Console& console);

}  // namespace pipesim::app
