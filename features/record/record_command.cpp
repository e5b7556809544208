// Starts the Python recorder, which replaces this process.
#include <string>
#include <string_view>
#include <vector>

#include "app/commands/commands.hpp"
#include "app/commands/shared_options.hpp"
#include "app/exit_codes.hpp"
#include "app/input/python.hpp"

namespace pipesim::app {
namespace {

// Returns the interpreter to record with. Removes --python from `words`, but leaves the arguments
// of the script unchanged.
std::string take_python(std::vector<std::string>& words) {
  constexpr std::string_view kOption = "--python";
  for (auto word = words.begin(); word != words.end(); ++word) {
    const bool script =
        *word == "-m" || *word == "--" || (word->ends_with(".py") && !word->starts_with("-"));
    if (script) break;
    std::string value;
    if (*word == kOption) {
      if (word + 1 == words.end())
        throw UsageError(models::Code::kOptionValue, "option '--python' needs a value");
      value = *(word + 1);
      words.erase(word, word + 2);
    } else if (word->starts_with(std::string(kOption) + "=")) {
      value = word->substr(kOption.size() + 1);
      words.erase(word);
    } else {
      continue;
    }
    return value;
  }
  return default_python();
}

int run_record(const Arguments& arguments, const Console& console) {
  std::vector<std::string> words = arguments.positional();
  if (words.empty()) {
    throw UsageError(models::Code::kArguments, "'pipesim record' needs a script",
                     "for example: pipesim record --ranks 8 train.py");
  }
  const std::string python = take_python(words);
  console.out.flush();
  become_python_module(python, "pipesim.record", words,
                       "--python names the Python that has your torch");
}

OptionGroup job_options() {
  return {"Job",
          {{.name = "ranks", .letter = 'n', .value = "N", .about = "Number of ranks"},
           {.name = "nnodes", .value = "N", .about = "Number of nodes, as for torchrun"},
           {.name = "device",
            .value = "DEVICE",
            .about = "cuda: a stand-in for CUDA; the default for scripts that use NCCL",
            .choices = {"cpu", "cuda"}},
           {.name = "env",
            .value = "NAME=VALUE",
            .about = "Set an environment variable (repeatable)",
            .repeats = true},
           {.name = "chdir", .value = "DIR", .about = "Run the script in DIR"},
           {.name = "preload",
            .value = "MODULE",
            .about = "Import a module once for all ranks, e.g. transformers (repeatable)",
            .repeats = true},
           {.name = "python",
            .value = "PYTHON",
            .about = "Interpreter that has the script's torch (default: $PYTHON, else the "
                     "python3 of pipesim's environment)"}}};
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
      .options = {job_options(), recording_options(), {"Check", {rules_option(), set_option()}}},
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
