// Declares a function for each command of commands.def. Each returns its command: options, help and
// the function that runs it.
#pragma once

#include "app/command.hpp"

namespace pipesim::app {

#define PIPESIM_GROUP(title)
#define PIPESIM_COMMAND(name) Command name##_command();
#include "app/commands/commands.def"
#undef PIPESIM_COMMAND
#undef PIPESIM_GROUP

}  // namespace pipesim::app
