// Finds and runs the command, and turns its exceptions into messages and exit statuses.
#include "app/cli/command_line.hpp"

#include <algorithm>
#include <new>
#include <stdexcept>

#include <fmt/format.h>

#include "app/cli/command_table.hpp"
#include "app/cli/help_text.hpp"
#include "app/exit_codes.hpp"
#include "app/input/text_input.hpp"
#include "app/output/files.hpp"
#include "app/version.hpp"
#include "models/codes.hpp"
#include "models/graph/diagnostics.hpp"

namespace pipesim::app {
namespace {

using Words = std::vector<std::string>;

int run(const Command& command, const Words& words, const Console& console) {
  const Arguments arguments(command, words);
  if (arguments.has("help")) {
    console.out << help_text(command);
    return kExitGood;
  }
  Console own = console;
  const std::string when = arguments.declares("color") ? arguments.value("color") : "auto";
  if (when != "auto") own.out_colour = own.err_colour = when == "always";
  return command.run(arguments, own);
}

int dispatch(const Words& words, const Console& console) {
  if (words.empty()) {
    console.err << help_text(main_command());
    return kExitUsage;
  }
  const std::string& first = words.front();
  if (first == "--help" || first == "-h") {
    console.out << help_text(main_command());
    return kExitGood;
  }
  if (first == "--version") {
    console.out << fmt::format("pipesim {}\n{}", version(), build_description());
    return kExitGood;
  }
  const Command* command = find_command(first);
  if (command != nullptr) return run(*command, {words.begin() + 1, words.end()}, console);
  const std::string nearest = models::nearest_name(first, command_names());
  throw UsageError(models::Code::kUnknownCommand, fmt::format("unknown command '{}'", first),
                   nearest.empty() ? "" : fmt::format("did you mean '{}'?", nearest));
}

// Returns the help to suggest after a mistake in `words`.
std::string help_after(const Words& words) {
  const bool is_command = !words.empty() && find_command(words.front()) != nullptr;
  // `pipesim help --help` does not list the commands.
  return is_command && words.front() != "help"
             ? fmt::format("'pipesim {} --help' lists the options", words.front())
             : "'pipesim --help' lists the commands";
}

// Makes a message printable: quoted arguments and file names must not control the terminal.
std::string printable_lines(std::string_view message) {
  std::string result;
  for (std::size_t begin = 0; begin <= message.size();) {
    const std::size_t end = std::min(message.find('\n', begin), message.size());
    if (begin > 0) result += '\n';
    result += models::printable(message.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

int fail(const models::UserError& error, const std::string& help, int status,
         const Console& console) {
  console.err << fmt::format("error[{}]: {}\n", models::code_id(error.code()),
                             printable_lines(error.what()));
  console.err << fmt::format(
      "  help: {}\n", printable_lines(help.empty() ? models::code_help(error.code()) : help));
  return status;
}

int out_of_memory(const Console& console) {
  return fail({models::Code::kMemory, "out of memory"},
              "make the scenario smaller, or use a machine with more memory", kExitUndecided,
              console);
}

}  // namespace

int run_command_line(const Words& words, const Console& console) {
  try {
    const int code = dispatch(words, console);
    console.out.flush();
    if (console.out.fail())
      throw FileError(models::Code::kStandardStreams, "cannot write to standard output");
    return code;
  } catch (const UsageError& error) {
    const std::string help = error.help().empty() ? help_after(words) : error.help();
    return fail(error, help, kExitUsage, console);
  } catch (const ReportedMistakes&) {
    return kExitUsage;
  } catch (const FileError& error) {
    return fail(error, error.help(), kExitFile, console);
  } catch (const models::UserError& error) {
    return fail(error, error.help(), kExitUsage, console);
  } catch (const std::bad_alloc&) {
    return out_of_memory(console);
  } catch (const std::length_error&) {  // the requested size exceeds any memory
    return out_of_memory(console);
  }
}

}  // namespace pipesim::app
