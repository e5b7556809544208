#include "features/live/live_options.hpp"

#include <cstdlib>
#include <vector>

#include <fmt/format.h>

#include "app/commands/shared_options.hpp"
#include "app/input/python.hpp"

namespace pipesim::app {

OptionGroup live_job_options() {
  return {
      "Job",
      {{.name = "output",
        .letter = 'o',
        .value = "DIR",
        .about = "Folder for the evidence (default: hang-DATE-TIME); several hosts can share it",
        .output = true},
       {.name = "job",
        .value = "NAME",
        .about = "Which of the jobs on this host: a part of its name"},
       {.name = "host",
        .value = "NAME",
        .about = "Name of this host in the evidence (default: its host name)"},
       {.name = "signal",
        .value = "SIGNAL",
        .about = "Signal for which the script has registered faulthandler, e.g. SIGUSR1: asks "
                 "for stacks where nothing else has them"}}};
}

void become_live_module(const std::string& module, const Arguments& arguments,
                        const Console& console) {
  if (!arguments.positional().empty()) {
    const std::string& first = arguments.positional().front();
    throw UsageError(
        models::Code::kArguments,
        fmt::format("'pipesim {}' takes no argument, found '{}'", arguments.command().name, first),
        "-o names the folder");
  }
  std::vector<std::string> words;
  for (const OptionGroup& group : arguments.command().options) {
    for (const Option& option : group.options) {
      if (option.name == "color") continue;
      for (const std::string& value : arguments.all(option.name)) {
        words.push_back(option.value.empty() ? "--" + option.name
                                             : fmt::format("--{}={}", option.name, value));
      }
    }
  }
  // The current folder can contain files with the names of standard modules.
  ::setenv("PYTHONSAFEPATH", "1", 1);
  console.out.flush();
  become_python_module(default_python(), module, words,
                       "install Python 3.8 or newer, or set PYTHON to the path of one");
}

}  // namespace pipesim::app
