// Starts the Python recorder, which replaces this process.
#include "app/commands/commands.hpp"
#include "app/commands/shared_options.hpp"

#include "features/record/script_options.hpp"

namespace pipesim::app {
namespace {

int run_record(const Arguments& arguments, const Console& console) {
  become_script_command("record", arguments, console);
}

OptionGroup recording_options() {
  return {
      "Recording",
      {{.name = "values",
        .value = "WHICH",
        .about = "real: collectives return real values; own: each rank makes up its own",
        .choices = {"real", "own"}},
       {.name = "limit",
        .value = "SIZE",
        .about = "Largest tensor that ranks exchange; for larger ones, each rank keeps its own"},
       {.name = "one-by-one", .about = "Run the ranks one after the other"},
       {.name = "steps", .value = "N", .about = "Stop each rank after N optimizer steps"},
       {.name = "seconds",
        .value = "N",
        .about = "End the recording after N seconds without progress"},
       {.name = "output",
        .letter = 'o',
        .value = "DIR",
        .about = "Keep the record",
        .output = true},
       {.name = "replay",
        .value = "FILE",
        .about = "Give the answers of this run of 'pipesim explore' again"},
       {.name = "only-record", .about = "Do not check the record"},
       {.name = "no-why",
        .about = "Do not run the script once more after a hang, to find where its ranks part"},
       {.name = "fix", .about = "After a hang, find changes of the script, and prove each of them"},
       {.name = "apply", .value = "N", .about = "As --fix, and write the N-th change to its file"},
       {.name = "all-output", .about = "Show the output of all ranks, not only of rank 0"}}};
}

}  // namespace

Command record_command() {
  return {
      .name = "record",
      .about = "Run all ranks of a PyTorch script on one CPU, and check it for hangs",
      .usage = {"--ranks N [options] SCRIPT [arguments]",
                "--ranks N [options] -m MODULE [arguments]"},
      .description =
          {"Runs all ranks of the script on this machine, without GPUs or a network, "
           "and records the calls that each rank makes on its process groups. Then "
           "checks whether any interleaving can hang, and at which lines. The script "
           "really runs: N processes at once, in one directory. After a hang it runs once more, "
           "with a trace of its branches, to find where the ranks part; 'pipesim why DIR' prints "
           "this again. With --fix, it runs once more for each change of the script that could "
           "remove the hang. Your files stay as they are, except with --apply.",
           "Needs a Python interpreter with the script's torch (1.13 or newer). 'python3 -m "
           "pipesim.record' is the same command."},
      .options = {script_options(), recording_options(), {"Check", {rules_option(), set_option()}}},
      .examples = {"pipesim record --ranks 8 train.py --micro-batches 4",
                   "pipesim record --ranks 8 --fix train.py",
                   "pipesim record --ranks 8 --only-record -o record/ train.py",
                   "pipesim check record/"},
      .exit_status = "that of 'pipesim check'; 2 the script cannot be recorded",
      .pages = {"docs/how-to/record.md", "docs/explanation/fix-a-script.md"},
      .passes_on = true,
      .run = run_record,
  };
}

}  // namespace pipesim::app
