// Boost.Program_options knows the options; what it leaves to us is which command they belong to.
// A command is an entry of the table below and a file of its own.
#include "app/command_line.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <sstream>
#include <string_view>

#include <boost/program_options.hpp>
#include <fmt/format.h>

#include "app/exit_codes.hpp"
#include "app/files.hpp"
#include "app/run_command.hpp"
#include "app/version.hpp"
#include "formats/expression.hpp"
#include "models/diagnostics.hpp"

namespace pipesim::app {
namespace {

namespace po = boost::program_options;

/// What the user typed makes no sense. The message says why.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using Arguments = std::vector<std::string>;

struct Command {
  std::string_view name;
  std::string_view about;
  int (*run)(const Arguments& arguments, const Console& console);
};

po::options_description run_options() {
  po::options_description options("Options");
  auto add = options.add_options();
  add("set", po::value<Arguments>()->value_name("NAME=VALUE"),
      "set a parameter of the scenario; may be given several times");
  add("params", "list the parameters of the scenario and stop");
  add("json", "print the report as JSON (docs/json.md)");
  add("dot", po::value<std::string>()->value_name("FILE"), "write the wait-for graph for Graphviz");
  add("stacks", "print where every host thread stands, as py-spy dumps a real job, instead");
  add("until", po::value<std::string>()->value_name("WHEN"),
      "stop there and report the state: a time (12ms), or the launch of an act (rank0:gather#3)");
  add("all", "list and draw every wait, not only those of the cycle");
  add("color", po::value<std::string>()->value_name("WHEN"),
      "auto (the default), always or never; NO_COLOR is respected");
  add("help,h", "print this help");
  return options;
}

constexpr std::string_view kRunHelp =
    "Usage: pipesim run FILE [options]\n"
    "\n"
    "Simulates the scenario in FILE (- is standard input) and says whether it completes; if it\n"
    "hangs, who waits for whom, and why.\n"
    "\n"
    "Examples:\n"
    "  pipesim run scenarios/swin_2x2x2.yaml\n"
    "  pipesim run scenarios/swin_2x2x2.yaml --set acc=2 --set bwd_dst_buffer=backward\n"
    "  pipesim run scenarios/swin_2x2x2.yaml --dot hang.dot && dot -Tsvg hang.dot -o hang.svg\n"
    "  pipesim run scenarios/swin_2x2x2.yaml --json | jq .cycle\n"
    "  pipesim run scenarios/swin_2x2x2.yaml --until rank1:nccl-1998#2\n"
    "  pipesim run scenarios/deepspeed_loss_broadcast.yaml --stacks\n"
    "\n"
    "Exit code: 0 it completes, 1 it hangs, 2 bad input or usage, 3 a limit was reached first,\n"
    "74 a file could not be read or written, 130 interrupted.\n"
    "\n";

std::string help_of_run() {
  std::ostringstream text;
  text << kRunHelp << run_options();
  return text.str();
}

// The nearest option is worth more than the library's words.
[[noreturn]] void explain(const po::error& error, const po::options_description& options) {
  const auto* unknown = dynamic_cast<const po::unknown_option*>(&error);
  if (unknown == nullptr) throw UsageError(error.what());
  std::string name = unknown->get_option_name();
  name.erase(0, name.find_first_not_of('-'));
  name.erase(std::min(name.find('='), name.size()));
  std::vector<std::string> known;
  for (const auto& option : options.options()) known.push_back(option->long_name());
  const std::string nearest = models::nearest_name(name, known);
  throw UsageError(
      fmt::format("there is no option '{}'{}", unknown->get_option_name(),
                  nearest.empty() ? "" : fmt::format("; did you mean '--{}'?", nearest)));
}

po::variables_map parse(const Arguments& arguments, const po::options_description& visible) {
  po::options_description all;
  all.add(visible);
  all.add_options()("file", po::value<Arguments>());
  po::positional_options_description positional;
  positional.add("file", -1);
  // No guessing: an abbreviation that works today may be ambiguous tomorrow.
  using Style = po::command_line_style::style_t;
  const int style = Style::default_style & ~Style::allow_guessing;
  po::variables_map values;
  try {
    po::store(
        po::command_line_parser(arguments).options(all).positional(positional).style(style).run(),
        values);
    po::notify(values);
  } catch (const po::error& error) {
    explain(error, visible);
  }
  return values;
}

formats::Setting setting(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw UsageError(fmt::format("--set needs NAME=VALUE, found '{}'", text));
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::string one_file(const po::variables_map& values, std::string_view command) {
  const Arguments files = values.count("file") > 0 ? values["file"].as<Arguments>() : Arguments();
  if (files.size() == 1) return files.front();
  throw UsageError(
      files.empty() ? fmt::format("'pipesim {}' needs a file", command)
                    : fmt::format("'pipesim {}' takes one file, found {}", command, files.size()));
}

Console coloured(const Console& console, const po::variables_map& values) {
  Console result = console;
  if (values.count("color") == 0) return result;
  const auto& when = values["color"].as<std::string>();
  if (when != "auto" && when != "always" && when != "never") {
    throw UsageError(fmt::format("--color is auto, always or never, found '{}'", when));
  }
  if (when != "auto") result.out_colour = result.err_colour = when == "always";
  return result;
}

// "12ms", or "rank0:all_gather#3".
Until until(const std::string& text) {
  const auto refuse = [&]() -> UsageError {
    return UsageError(
        fmt::format("--until needs a time (12ms) or an act (rank0:gather#3), found '{}'", text));
  };
  const std::size_t colon = text.find(':');
  const std::size_t hash = text.rfind('#');
  Until result;
  if (text.substr(0, 4) == "rank" && colon != std::string::npos && hash != std::string::npos) {
    const auto number = [&](std::size_t begin, std::size_t end, std::uint32_t& value) {
      const char* last = text.data() + end;
      const auto [stop, problem] = std::from_chars(text.data() + begin, last, value);
      if (problem != std::errc() || stop != last) throw refuse();
    };
    if (hash < colon) throw refuse();
    number(4, colon, result.rank);
    number(hash + 1, text.size(), result.act);
    result.op = text.substr(colon + 1, hash - colon - 1);
    if (result.op.empty() || result.act == 0) throw refuse();
    return result;
  }
  models::Diagnostics problems;
  const auto value = formats::parse_expression(text, {}, formats::Scope(), problems);
  if (!value || value->type != formats::ValueType::kTime) throw refuse();
  const std::optional<std::int64_t> time = value->expr.value(0);
  if (!time || *time < 0) throw refuse();
  result.time = sim::Time{*time};
  return result;
}

int command_run(const Arguments& arguments, const Console& console) {
  const po::variables_map values = parse(arguments, run_options());
  if (values.count("help") > 0) {
    console.out << help_of_run();
    return kExitGood;
  }
  RunCommand command;
  command.path = one_file(values, "run");
  command.json = values.count("json") > 0;
  command.stacks = values.count("stacks") > 0;
  if (command.json && command.stacks) throw UsageError("--json and --stacks exclude each other");
  if (values.count("until") > 0) command.until = until(values["until"].as<std::string>());
  command.all = values.count("all") > 0;
  command.list_parameters = values.count("params") > 0;
  if (values.count("dot") > 0) command.dot_path = values["dot"].as<std::string>();
  if (values.count("set") > 0) {
    for (const std::string& text : values["set"].as<Arguments>()) {
      command.settings.push_back(setting(text));
    }
  }
  return run_run(command, coloured(console, values));
}

int command_help(const Arguments& arguments, const Console& console);

constexpr std::array kCommands = {
    Command{"run", "simulate a scenario and say whether it hangs, and why", command_run},
    Command{"help", "print this help, or that of a command", command_help},
};

std::string main_help() {
  std::string text =
      "pipesim: will this distributed training step finish, and if not, who waits for whom?\n"
      "\n"
      "Usage: pipesim COMMAND [options]\n"
      "\n"
      "Commands:\n";
  for (const Command& command : kCommands) {
    text += fmt::format("  {:6} {}\n", command.name, command.about);
  }
  text +=
      "\n"
      "Example:\n"
      "  pipesim run scenarios/swin_2x2x2.yaml\n"
      "\n"
      "'pipesim help COMMAND' or 'pipesim COMMAND --help' says more; 'pipesim --version' says "
      "which\n"
      "version this is.\n";
  return text;
}

const Command& find_command(const std::string& name) {
  const auto* found = std::find_if(kCommands.begin(), kCommands.end(),
                                   [&](const Command& command) { return command.name == name; });
  if (found != kCommands.end()) return *found;
  std::vector<std::string> known;
  for (const Command& command : kCommands) known.emplace_back(command.name);
  const std::string nearest = models::nearest_name(name, known);
  throw UsageError(
      fmt::format("there is no command '{}'{}", name,
                  nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest)));
}

int command_help(const Arguments& arguments, const Console& console) {
  if (arguments.empty() || arguments.front() == "help") {
    console.out << main_help();
    return kExitGood;
  }
  return find_command(arguments.front()).run({"--help"}, console);
}

int dispatch(const Arguments& arguments, const Console& console) {
  if (arguments.empty()) {
    console.err << main_help();
    return kExitUsage;
  }
  const std::string& first = arguments.front();
  if (first == "--help" || first == "-h") return command_help({}, console);
  if (first == "--version") {
    console.out << fmt::format("pipesim {}\n", version());
    return kExitGood;
  }
  return find_command(first).run({arguments.begin() + 1, arguments.end()}, console);
}

}  // namespace

int run_command_line(const std::vector<std::string>& arguments, const Console& console) {
  try {
    const int code = dispatch(arguments, console);
    console.out.flush();
    if (console.out.fail()) throw FileError("cannot write to standard output");
    return code;
  } catch (const UsageError& error) {
    console.err << fmt::format("pipesim: error: {}\n  help: see 'pipesim --help'\n", error.what());
    return kExitUsage;
  } catch (const FileError& error) {
    console.err << fmt::format("pipesim: error: {}\n", error.what());
    return kExitFile;
  } catch (const std::bad_alloc&) {
    console.err << "pipesim: error: out of memory\n";
    return kExitUndecided;
  }
}

}  // namespace pipesim::app
