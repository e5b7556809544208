// Declares a function for each command of commands.def. It returns the command's options, help and
// work.
#pragma once

#include "app/command.hpp"

namespace pipesim::app {

#define GROUP(title)
#define COMMAND(name) Command name##_command();
#include "app/commands/commands.def"
#undef COMMAND
#undef GROUP

}  // namespace pipesim::app
