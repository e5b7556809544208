// Starts the Python recorder: finds the interpreter and the package, then replaces this process.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "app/commands/commands.hpp"
#include "app/commands/shared_options.hpp"
#include "app/exit_codes.hpp"

namespace pipesim::app {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Returns the Python of the environment in which the program is installed. If PATH contains the
// program's folder, PATH selects the Python. A virtual environment always uses its own Python,
// because PATH can belong to another active environment.
std::string own_python(const fs::path& program) {
  const fs::path folder = program.parent_path();
  const fs::path beside = folder / "python3";
  const std::string path = ":" + environment("PATH") + ":";
  std::error_code error;
  const bool is_own = fs::exists(folder.parent_path() / "pyvenv.cfg", error) ||
                      path.find(":" + folder.string() + ":") == std::string::npos;
  return is_own && ::access(beside.c_str(), X_OK) == 0 ? beside.string() : "python3";
}

// Returns the interpreter to record with. Removes --python from `words`, but leaves the arguments
// of the script unchanged.
std::string take_python(std::vector<std::string>& words, const fs::path& program) {
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
  const std::string given = environment("PYTHON");
  return given.empty() ? own_python(program) : given;
}

// Returns the folder of the package `pipesim`: next to the program in a source tree, or the
// installed one. Returns an empty text if Python finds the package by itself, or if the package is
// missing.
std::string package_folder(const fs::path& program) {
  std::error_code error;
  fs::path above = program.parent_path();
  for (; above.has_relative_path(); above = above.parent_path()) {
    for (const fs::path& folder : {above / "python", above / "share" / "pipesim" / "python"}) {
      if (fs::exists(folder / "pipesim" / "record.py", error)) return folder.string();
    }
  }
  return {};
}

int run_record(const Arguments& arguments, const Console& console) {
  std::vector<std::string> words = arguments.positional();
  if (words.empty()) {
    throw UsageError(models::Code::kArguments, "'pipesim record' needs a script",
                     "for example: pipesim record --ranks 8 train.py");
  }
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const std::string python = take_python(words, program);
  if (!error) {
    ::setenv("PIPESIM", program.c_str(), 1);
    const std::string folder = package_folder(program);
    const std::string before = environment("PYTHONPATH");
    if (!folder.empty()) {
      ::setenv("PYTHONPATH", (before.empty() ? folder : folder + ":" + before).c_str(), 1);
    }
  }
  std::vector<std::string> all = {python, "-m", "pipesim.record"};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> raw;
  for (std::string& word : all) raw.push_back(word.data());
  raw.push_back(nullptr);
  console.out.flush();
  ::execvp(python.c_str(), raw.data());
  throw InputError(models::Code::kFile,
                   fmt::format("cannot run '{}': {}", python, std::strerror(errno)),
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
           "this again.",
           "Needs a Python interpreter with the script's torch (1.13 or newer). 'python3 -m "
           "pipesim.record' is the same command."},
      .options = {job_options(), recording_options(), {"Check", {rules_option(), set_option()}}},
      .examples = {"pipesim record --ranks 8 train.py --micro-batches 4",
                   "pipesim record --ranks 8 --only-record -o record/ train.py",
                   "pipesim check record/"},
      .exit_status = "that of 'pipesim check'; 2 the script cannot be recorded",
      .pages = {"docs/how-to/record.md"},
      .passes_on = true,
      .run = run_record,
  };
}

}  // namespace pipesim::app
