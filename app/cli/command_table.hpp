// All commands, grouped by what one wants to do.
#pragma once

#include <string>
#include <vector>

#include "app/command.hpp"

namespace pipesim::app {

struct CommandGroup {
  std::string title;
  std::vector<Command> commands;
};

const std::vector<CommandGroup>& command_groups();

/// In the order of the groups.
std::vector<const Command*> all_commands();
std::vector<std::string> command_names();

/// Null if there is no command of that name.
const Command* find_command(const std::string& name);

/// The program itself, which --help without a command describes.
Command main_command();

// These two describe the others, so they are not in app/commands.
Command help_command();
Command completion_command();

}  // namespace pipesim::app
