// All commands, grouped by purpose.
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

/// All commands, sorted by help group.
std::vector<const Command*> all_commands();
std::vector<std::string> command_names();

/// Returns null if no command has this name.
const Command* find_command(const std::string& name);

/// Returns the program itself, as --help without a command describes it.
Command main_command();

// `help` and `completion` describe the other commands, so they are not in app/commands.
Command help_command();
Command completion_command();

}  // namespace pipesim::app
