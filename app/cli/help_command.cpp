#include <fmt/format.h>

#include "app/cli/command_table.hpp"
#include "app/cli/help_text.hpp"
#include "app/cli/man_page.hpp"
#include "app/exit_codes.hpp"
#include "app/output/console.hpp"
#include "models/graph/diagnostics.hpp"

namespace pipesim::app {
namespace {

Command described(const std::string& topic) {
  if (const Command* command = find_command(topic)) return *command;
  const std::string nearest = models::nearest_name(topic, command_names());
  throw UsageError(fmt::format("no help for '{}'", topic),
                   nearest.empty() ? "" : fmt::format("did you mean '{}'?", nearest));
}

int run_help(const Arguments& arguments, const Console& console) {
  const auto& topics = arguments.positional();
  if (topics.size() > 1) {
    throw UsageError(fmt::format("'pipesim help' takes one command, found {}", topics.size()));
  }
  if (arguments.has("list")) {
    for (const std::string& name : command_names()) console.out << name << '\n';
    return kExitGood;
  }
  const Command command = topics.empty() ? main_command() : described(topics.front());
  console.out << (arguments.has("man") ? man_page(command) : help_text(command));
  return kExitGood;
}

}  // namespace

Command help_command() {
  return {
      .name = "help",
      .about = "Print this help, or that of a command",
      .usage = {"[COMMAND] [options]"},
      .description = {"Prints what a command does, with its options, examples and exit status."},
      .options = {{"General options",
                   {{.name = "man", .about = "Print a man page instead, in roff"},
                    {.name = "list", .about = "List the names of the commands and exit"}}}},
      .examples = {"pipesim help run", "pipesim help --man run | man -l -"},
      .exit_status = "0 success, 2 invalid usage",
      .pages = {"docs/reference/commands.md"},
      .run = run_help,
  };
}

}  // namespace pipesim::app
