// Starts the Python explorer, which replaces this process.
#include "app/commands/commands.hpp"
#include "app/commands/shared_options.hpp"

#include "features/record/script_options.hpp"

namespace pipesim::app {
namespace {

int run_explore(const Arguments& arguments, const Console& console) {
  become_script_command("explore", arguments, console);
}

OptionGroup exploring_options() {
  return {
      "Exploring",
      {{.name = "answers", .value = "K", .about = "At most K unusual answers in a run"},
       {.name = "runs", .value = "N", .about = "Stop after N runs", .otherwise = "1000"},
       {.name = "time", .value = "SECONDS", .about = "Stop after this time", .otherwise = "300"},
       {.name = "free",
        .value = "KINDS",
        .about = "Explore only these answers, e.g. polls,clocks (default: all but data and "
                 "faults)"},
       {.name = "faults", .about = "Modules and collectives fail where the script has a handler"},
       {.name = "uneven-data", .about = "A data loader ends one batch early on a rank"},
       {.name = "keep-going", .about = "Find all hangs, not only the first"},
       {.name = "output",
        .letter = 'o',
        .value = "DIR",
        .about = "Keep the run that hangs: its record, and answers.json for record --replay",
        .output = true},
       {.name = "limit",
        .value = "SIZE",
        .about = "Largest tensor that ranks exchange; for larger ones, each rank keeps its own"},
       {.name = "seconds", .value = "N", .about = "Give a run up after N seconds without progress"},
       {.name = "json", .about = "Print the answer as JSON"}}};
}

}  // namespace

Command explore_command() {
  return {
      .name = "explore",
      .about = "Run a PyTorch script with other answers of clocks, polls, queues and stores",
      .usage = {"--ranks N [options] SCRIPT [arguments]",
                "--ranks N [options] -m MODULE [arguments]"},
      .description =
          {"A record is one run of a script. 'explore' runs the script again and again: with other "
           "answers of is_completed(), clocks, timeouts, queues, random numbers and recvs from any "
           "source, and with other orders of calls of a store and accesses to files. It checks "
           "each record that differs, until a run hangs or all answers were tried.",
           "Each run works in a copy of the folder that consists of links, so your files stay as "
           "they are. Clocks are virtual: an hour passes at once. Needs the Python interpreter "
           "that 'pipesim record' needs."},
      .options = {script_options(), exploring_options(), {"Check", {rules_option(), set_option()}}},
      .examples = {"pipesim explore --ranks 4 train.py",
                   "pipesim explore --ranks 4 --answers 2 -o hang/ train.py",
                   "pipesim record --ranks 4 --replay hang/answers.json train.py"},
      .exit_status =
          "0 all answers were tried and none hangs; 1 a run hangs, or the script fails; "
          "2 the script cannot be run; 3 not all answers were tried",
      .pages = {"docs/how-to/explore.md"},
      .passes_on = true,
      .run = run_explore,
  };
}

}  // namespace pipesim::app
