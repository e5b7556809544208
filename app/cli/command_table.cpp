#include "app/cli/command_table.hpp"

#include <utility>

#include "app/commands/commands.hpp"

namespace pipesim::app {

const std::vector<CommandGroup>& command_groups() {
  static const std::vector<CommandGroup> kGroups = [] {
    std::vector<CommandGroup> groups;
#define PIPESIM_GROUP(title) groups.push_back({title, {}});
#define PIPESIM_COMMAND(name) groups.back().commands.push_back(name##_command());
#include "app/commands/commands.def"
#undef PIPESIM_COMMAND
#undef PIPESIM_GROUP
    return groups;
  }();
  return kGroups;
}

std::vector<const Command*> all_commands() {
  std::vector<const Command*> commands;
  for (const CommandGroup& group : command_groups()) {
    for (const Command& command : group.commands) commands.push_back(&command);
  }
  return commands;
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const Command* command : all_commands()) names.push_back(command->name);
  return names;
}

const Command* find_command(const std::string& name) {
  for (const Command* command : all_commands()) {
    if (command->name == name) return command;
  }
  return nullptr;
}

Command main_command() {
  Command command = {
      .name = "",
      .about = "will this training step finish, and if not, who waits for whom?",
      .usage = {"COMMAND [options]"},
      .description = {"'pipesim COMMAND --help' describes a command."},
      .options = {{"General options", {{.name = "version", .about = "Print the version"}}}},
      .examples = {"pipesim run scenarios/swin_2x2x2.yaml",
                   "pipesim new -o job.yaml && pipesim run job.yaml",
                   "pipesim diagnose flight-recorder /tmp/dumps"},
      .exit_status =
          "0 success, 1 hang or failed expectation, 2 invalid input or usage, 3 "
          "undecided, 74 a file could not be read or written, 130 interrupted",
      .pages = {"docs/tutorial/from-hang-to-test.md"},
  };
  for (const CommandGroup& group : command_groups()) {
    HelpTable& table = command.tables.emplace_back();
    table.title = group.title;
    for (const Command& member : group.commands) table.rows.emplace_back(member.name, member.about);
  }
  return command;
}

}  // namespace pipesim::app
