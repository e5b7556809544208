#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "app/cli/command_table.hpp"
#include "app/cli/help_text.hpp"
#include "app/commands/commands.hpp"
#include "app/exit_codes.hpp"
#include "app/output/console.hpp"
#include "models/codes.hpp"
#include "models/graph/diagnostics.hpp"

namespace pipesim::app {
namespace {

std::string error_list() {
  std::vector<HelpTable> topics;
  for (const models::CodeInfo& info : models::all_codes()) {
    if (topics.empty() || topics.back().title != info.topic) topics.push_back({info.topic, {}});
    topics.back().rows.emplace_back(models::code_id(info.code), info.title);
  }
  return "Errors and warnings. 'pipesim help ID' explains one.\n" + two_columns(topics);
}

std::string explanation(const models::CodeInfo& info) {
  std::string text =
      wrapped(models::code_id(info.code) + ": ", info.title, 0) + "\n" + wrapped("", info.about, 0);
  std::istringstream example(info.example);
  const bool is_fixed = info.example.find("\n+") != std::string::npos;
  if (!info.example.empty()) {
    text += fmt::format("\nFor example ('-': wrong{}):\n\n", is_fixed ? ", '+': right" : "");
  }
  for (std::string line; std::getline(example, line);) text += fmt::format("  {}\n", line);
  return text;
}

std::string described(const std::string& topic, bool as_man_page) {
  if (topic == "errors") return error_list();
  if (const models::CodeInfo* info = models::find_code(topic)) return explanation(*info);
  if (const Command* command = find_command(topic)) {
    return as_man_page ? man_page(*command) : help_text(*command);
  }
  std::vector<std::string> ids;
  for (const models::CodeInfo& info : models::all_codes()) {
    ids.push_back(models::code_id(info.code));
  }
  const bool is_id = topic.find_first_of("0123456789") != std::string::npos;
  const std::string nearest = models::nearest_name(topic, is_id ? ids : command_names());
  throw UsageError(
      models::Code::kUnknownCommand, fmt::format("no help for '{}'", topic),
      is_id             ? fmt::format("{}'pipesim help errors' lists all ids",
                          nearest.empty() ? "" : fmt::format("did you mean {}? ", nearest))
                  : nearest.empty() ? ""
                        : fmt::format("did you mean '{}'?", nearest));
}

int run_help(const Arguments& arguments, const Console& console) {
  const auto& topics = arguments.positional();
  if (topics.size() > 1) {
    throw UsageError(
        models::Code::kArguments,
        fmt::format("'pipesim help' takes one command or id, found {}", topics.size()));
  }
  const bool as_man_page = arguments.has("man");
  if (arguments.has("list")) {
    for (const std::string& name : command_names()) console.out << name << '\n';
  } else if (!topics.empty()) {
    console.out << described(topics.front(), as_man_page);
  } else {
    console.out << (as_man_page ? man_page(main_command()) : help_text(main_command()));
  }
  return kExitGood;
}

}  // namespace

Command help_command() {
  return {
      .name = "help",
      .about = "Explain a command or an error",
      .usage = {"[COMMAND | ID | errors] [options]"},
      .description = {"Prints what a command does, with its options, examples and exit status; or "
                      "what an error or a warning means, by the id that it shows: E0401. 'errors' "
                      "lists all ids."},
      .options = {{"General options",
                   {{.name = "man", .about = "Print a man page instead, in roff"},
                    {.name = "list", .about = "List the names of the commands and exit"}}}},
      .examples = {"pipesim help run", "pipesim help E0401", "pipesim help --man run | man -l -"},
      .exit_status = "0 success, 2 invalid usage",
      .pages = {"docs/reference/commands.md", "docs/reference/errors.md"},
      .run = run_help,
  };
}

}  // namespace pipesim::app
