#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "app/commands/commands.hpp"
#include "app/exit_codes.hpp"
#include "app/output/console.hpp"
#include "app/output/files.hpp"
#include "models/data_files.hpp"

namespace pipesim::app {
namespace {

/// A scenario to start from, in data/new/KIND.yaml.
struct StartingScenario {
  std::string_view kind;
  std::string_view about;
};

constexpr std::array kStartingScenarios = std::to_array<StartingScenario>({
    {"program", "a host program: what each rank's Python does (the default)"},
    {"actors", "actors that pass data to each other, as in OneFlow"},
    {"model", "layers and a layout, from which passes build actors"},
    {"schedule", "a pipeline schedule by name"},
    {"megatron", "a step of Megatron-LM: pipeline, tensor and data parallel"},
    {"torchtitan", "a step of torchtitan: schedule, FSDP2 and tensor parallel"},
    {"fsdp", "a step of FSDP2: weights gathered and gradients reduced by layer"},
    {"vllm", "an inference engine with data and expert parallelism, as in vLLM"},
});

int run_new(const Arguments& arguments, const Console& console) {
  const std::vector<std::string>& kinds = arguments.command().words;
  if (arguments.has("list")) {
    for (const StartingScenario& scenario : kStartingScenarios) {
      console.out << fmt::format("{:10}  {}\n", scenario.kind, scenario.about);
    }
    return kExitGood;
  }
  const auto& given = arguments.positional();
  if (given.size() > 1) {
    throw UsageError(models::Code::kArguments,
                     fmt::format("'pipesim new' takes one kind, found {}", given.size()),
                     "write '-o FILE' to name the file");
  }
  const std::string& kind = given.empty() ? kinds.front() : given.front();
  if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
    throw UsageError(models::Code::kOptionValue,
                     fmt::format("unknown kind '{}' for 'pipesim new'", kind),
                     choice_help(kind, kinds));
  }
  const std::string text(models::data_file(fmt::format("data/new/{}.yaml", kind)));
  const std::string output = arguments.text("output").value_or("-");
  if (output == "-") {
    console.out << text;
    return kExitGood;
  }
  write_new_file(output, text);
  console.out << fmt::format("Wrote {0}. Next: pipesim run {0}\n", output);
  return kExitGood;
}

}  // namespace

Command new_command() {
  HelpTable kinds = {"Kinds", {}};
  std::vector<std::string> names;
  for (const StartingScenario& scenario : kStartingScenarios) {
    kinds.rows.emplace_back(scenario.kind, scenario.about);
    names.emplace_back(scenario.kind);
  }
  return {
      .name = "new",
      .about = "Write a scenario to start from",
      .usage = {"[KIND] [options]"},
      .description = {"Prints a small scenario to start from. It runs as it is, and its comments "
                      "explain each part and what to change."},
      .tables = {std::move(kinds)},
      .options = {{"Output",
                   {{.name = "output",
                     .letter = 'o',
                     .value = "FILE",
                     .about = "Write to FILE, which must not exist yet",
                     .output = true},
                    {.name = "list", .about = "List the kinds and exit"}}}},
      .examples = {"pipesim new -o job.yaml && pipesim run job.yaml",
                   "pipesim new schedule | pipesim run -"},
      .exit_status =
          "0 success, 2 invalid usage, 74 the file exists already or could not be written",
      .pages = {"docs/how-to/write-a-scenario.md"},
      .words = std::move(names),
      .run = run_new,
  };
}

}  // namespace pipesim::app
