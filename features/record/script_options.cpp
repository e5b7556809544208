#include "features/record/script_options.hpp"

#include <string_view>
#include <vector>

#include "app/commands/shared_options.hpp"
#include "app/exit_codes.hpp"
#include "app/input/python.hpp"

namespace pipesim::app {
namespace {

// Returns the Python interpreter to use. Removes --python from `words`, but leaves the arguments of
// the script unchanged.
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

}  // namespace

OptionGroup script_options() {
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

void become_script_command(const std::string& name, const Arguments& arguments,
                           const Console& console) {
  std::vector<std::string> words = arguments.positional();
  if (words.empty()) {
    throw UsageError(models::Code::kArguments, "'pipesim " + name + "' needs a script",
                     "for example: pipesim " + name + " --ranks 8 train.py");
  }
  const std::string python = take_python(words);
  console.out.flush();
  become_python_module(python, "pipesim." + name, words,
                       "--python names the Python that has your torch");
}

}  // namespace pipesim::app
