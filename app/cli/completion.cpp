// `pipesim completion`: prints scripts for shells that complete pipesim's command lines. The
// scripts are in data/completion; this file adds the commands and their options.
#include <filesystem>
#include <sstream>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/cli/command_table.hpp"
#include "app/commands/commands.hpp"
#include "app/exit_codes.hpp"
#include "app/input/schedule_input.hpp"
#include "app/output/console.hpp"
#include "app/output/files.hpp"
#include "formats/scenario/scenario.hpp"
#include "models/codes.hpp"
#include "models/data_files.hpp"

namespace pipesim::app {
namespace {

// The kind of an option's value.
enum class ValueKind { kWords, kParameters, kFiles, kFolders, kOther };

ValueKind kind_of(const Option& option) {
  if (!option.choices.empty()) return ValueKind::kWords;
  if (option.value.rfind("NAME=VALUE", 0) == 0) return ValueKind::kParameters;
  if (option.value == "FILE") return ValueKind::kFiles;
  if (option.value == "DIR") return ValueKind::kFolders;
  return ValueKind::kOther;
}

// Quotes `text` for a shell, with single quotes.
std::string in_quotes(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";
    } else {
      result += c;
    }
  }
  return result + "'";
}

std::vector<Option> flat_options(const Command& command) {
  std::vector<Option> options;
  for (const OptionGroup& group : all_options(command)) {
    options.insert(options.end(), group.options.begin(), group.options.end());
  }
  return options;
}

// Returns all values of the first argument; empty if they cannot be listed.
std::vector<std::string> first_words(const Command& command) {
  return command.name == "help" ? command_names() : command.words;
}

std::string all_forms(const Option& option, const char* between) {
  const std::string name = "--" + option.name;
  return option.letter == '\0' ? name : fmt::format("-{}{}{}", option.letter, between, name);
}

std::string bash_options(const Command& command) {
  std::string forms;
  std::string cases;
  for (const Option& option : flat_options(command)) {
    forms += (forms.empty() ? "" : " ") + all_forms(option, " ");
    if (option.value.empty()) continue;
    const auto what = [&]() -> std::string {
      switch (kind_of(option)) {
        case ValueKind::kWords:
          return fmt::format("words {}", fmt::join(option.choices, " "));
        case ValueKind::kParameters:
          return "parameters";
        case ValueKind::kFiles:
          return "files";
        case ValueKind::kFolders:
          return "folders";
        case ValueKind::kOther:
          break;
      }
      return "other";
    }();
    cases += fmt::format("    {}.{}) value={} ;;\n", command.name,
                         all_forms(option, fmt::format(" | {}.", command.name).c_str()),
                         in_quotes(what));
  }
  return fmt::format("    {}.)\n      options={}\n      first={} ;;\n", command.name,
                     in_quotes(forms),
                     in_quotes(fmt::format("{}", fmt::join(first_words(command), " ")))) +
         cases;
}

// Escapes `text` for a specification of _arguments.
std::string zsh_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::string zsh_words(const std::vector<std::string>& words) {
  return fmt::format("({})", fmt::join(words, " "));
}

std::string zsh_action(const Option& option) {
  switch (kind_of(option)) {
    case ValueKind::kWords:
      return zsh_words(option.choices);
    case ValueKind::kParameters:
      return "_pipesim_parameters";
    case ValueKind::kFiles:
      return "_files";
    case ValueKind::kFolders:
      return "_files -/";
    case ValueKind::kOther:
      break;
  }
  return " ";  // a value without suggestions
}

std::string zsh_options(const Command& command) {
  std::string text = fmt::format("        {})\n          _arguments -s", command.name);
  for (const Option& option : flat_options(command)) {
    const auto add = [&](const std::string& form, const char* joined) {
      std::string spec = fmt::format("*{}[{}]", form, zsh_text(option.about));
      if (!option.value.empty()) {
        spec = fmt::format("*{}{}[{}]:{}:{}", form, joined, zsh_text(option.about),
                           zsh_text(option.value), zsh_action(option));
      }
      text += " \\\n            " + in_quotes(spec);
    };
    if (option.letter != '\0') add(fmt::format("-{}", option.letter), "+");
    add("--" + option.name, "=");
  }
  const std::vector<std::string> words = first_words(command);
  if (!words.empty()) {
    text += " \\\n            " + in_quotes("1:what:" + zsh_words(words));
  }
  return text + " \\\n            '*:file:_files' ;;\n";
}

// Maximum size, in bytes, of a scenario that completion reads: TAB must answer without delay, and
// only programs write larger scenarios.
constexpr std::size_t kMaxBytes = std::size_t{1} << 20;

// Replaces `mark`, which occurs once, by `text`.
void fill(std::string& script, std::string_view mark, const std::string& text) {
  script.replace(script.find(mark), mark.size(), text);
}

std::string bash_completion() {
  std::string cases;
  for (const Command* command : all_commands()) cases += bash_options(*command);
  std::string script(models::data_file("data/completion/pipesim.bash"));
  fill(script, "    # @cases@\n", cases);
  fill(script, "@commands@", fmt::format("{}", fmt::join(command_names(), " ")));
  return script;
}

std::string zsh_completion() {
  std::string commands;
  std::string cases;
  for (const Command* command : all_commands()) {
    commands += fmt::format("    {}\n", in_quotes(command->name + ":" + zsh_text(command->about)));
    cases += zsh_options(*command);
  }
  std::string script(models::data_file("data/completion/pipesim.zsh"));
  fill(script, "    # @commands@\n", commands);
  fill(script, "        # @cases@\n", cases);
  return script;
}

// Returns the words that can follow --set for the scenario at `path`, one per line: NAME=VALUE for
// each value of a word or a switch, else NAME=. Returns no words if the file is not a scenario, not
// regular, or larger than kMaxBytes: completion cannot report mistakes.
std::string parameter_words(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return {};
  std::istringstream no_input;
  std::string text;
  try {
    text = read_file(path, no_input, kMaxBytes);
  } catch (const FileError&) {
    return {};
  }
  if (text.size() > kMaxBytes) return {};
  models::Diagnostics ignored;
  if (is_schedule_path(path)) {
    text = scenario_of_schedule(text, path, ignored).value_or(std::string());
  }
  std::string words;
  for (const formats::Parameter& parameter : formats::read_parameters_of(text, ignored)) {
    std::vector<std::string> values = parameter.options;
    if (values.empty() && parameter.value.type == formats::ValueType::kTruth) {
      values = {"on", "off"};
    }
    if (values.empty()) values.emplace_back();
    for (const std::string& value : values) words += parameter.name + "=" + value + "\n";
  }
  return words;
}

int run_completion(const Arguments& arguments, const Console& console) {
  const auto& given = arguments.positional();
  const std::string shell = given.empty() ? "" : given.front();
  if (given.size() == 2 && shell == "parameters") {
    console.out << parameter_words(given.back());
    return kExitGood;
  }
  if (given.size() != 1 || (shell != "bash" && shell != "zsh")) {
    throw UsageError(models::Code::kOptionValue,
                     given.size() == 1 ? fmt::format("unknown shell '{}'", shell)
                                       : "'pipesim completion' needs the name of a shell",
                     choice_help(shell, arguments.command().words));
  }
  console.out << (shell == "bash" ? bash_completion() : zsh_completion());
  return kExitGood;
}

}  // namespace

Command completion_command() {
  return {
      .name = "completion",
      .about = "Print a completion script for bash or zsh",
      .usage = {"bash|zsh", "parameters FILE"},
      .description = {"Prints a script that lets the shell complete commands, options, files and, "
                      "after --set, the parameters of the scenario.",
                      "The second form is for these scripts: NAME=VALUE of all parameters of a "
                      "scenario, one per line, and nothing if FILE is not a scenario."},
      .examples = {"source <(pipesim completion bash)",
                   "pipesim completion zsh > ~/.zfunc/_pipesim"},
      .exit_status = "0 success, 2 invalid usage",
      .pages = {"docs/how-to/install.md"},
      .words = {"bash", "zsh"},
      .run = run_completion,
  };
}

}  // namespace pipesim::app
