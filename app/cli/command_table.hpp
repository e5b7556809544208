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

/// Returns all commands, sorted by help group.
std::vector<const Command*> all_commands();
std::vector<std::string> command_names();

/// Returns the command of this name, or null.
const Command* find_command(const std::string& name);

/// Returns the program itself, as --help without a command describes it.
Command main_command();

}  // namespace pipesim::app
