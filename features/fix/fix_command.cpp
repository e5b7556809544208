#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/commands/commands.hpp"
#include "app/commands/shared_options.hpp"
#include "app/exit_codes.hpp"
#include "app/output/files.hpp"
#include "app/output/progress.hpp"
#include "app/output/views.hpp"

#include "features/fix/fix.hpp"
#include "features/fix/fix_report.hpp"
#include "features/fix/scenario_edits.hpp"

namespace pipesim::app {
namespace {

int exit_code_of(const models::FixReport& report) {
  if (report.stopped) return kExitInterrupted;
  switch (report.found) {
    case models::FixCase::kNothing:
      return kExitGood;
    case models::FixCase::kNothingFound:
      return kExitUndecided;
    case models::FixCase::kHangs:
    case models::FixCase::kHangsInAnother:
    case models::FixCase::kByBuffers:
      break;
  }
  if (!report.fixes.empty()) return kExitGood;
  return report.out_of_budget ? kExitUndecided : kExitBad;
}

void write_patches(const std::string& folder, const std::vector<models::Fix>& fixes) {
  if (!fixes.empty()) make_folder(folder);
  for (std::size_t i = 0; i < fixes.size(); ++i) {
    write_file(fmt::format("{}/fix_{}.yaml", folder, i + 1), fixes[i].patch);
  }
  // Removes patches with higher numbers, left by an earlier run.
  std::error_code error;
  for (std::size_t i = fixes.size() + 1;
       std::filesystem::remove(fmt::format("{}/fix_{}.yaml", folder, i), error); ++i) {
  }
}

// Returns the parameters that a patch can change. Excludes parameters set by --set, which would
// override the patch.
std::vector<formats::Parameter> parameters_of(const formats::Scenario& scenario,
                                              const ScenarioInput& input) {
  std::vector<formats::Parameter> parameters = scenario.parameters;
  std::erase_if(parameters, [&](const formats::Parameter& parameter) {
    return std::any_of(input.settings().begin(), input.settings().end(),
                       [&](const formats::Setting& set) { return set.first == parameter.name; });
  });
  return parameters;
}

int run_fix(const Arguments& arguments, const Console& console) {
  const ScenarioFiles files = scenario_files(arguments);
  const auto folder = arguments.output_file("output");
  ScenarioInput input(files, console);
  const formats::Scenario scenario = input.read();
  std::atomic<std::uint64_t> tried = 0;
  const formats::EditedScenario edited(scenario, input.text(), input.patches(),
                                       [&](const formats::PatchText& patch) {
                                         ++tried;
                                         return input.read_with(patch);
                                       });
  models::FixOptions options;
  options.stop = console.interrupted;
  const models::FixReport report = input.require([&] {
    const Simulating now(console);
    const ProgressLine progress(console, [&tried] {
      return tried == 0 ? std::string("looking at the hang ...")
                        : fmt::format("trying changes: {} so far", tried.load());
    });
    return models::find_fixes(parameters_of(scenario, input), edited, options, input.diagnostics());
  }());
  input.report();
  const bool hangs =
      report.found != models::FixCase::kNothing && report.found != models::FixCase::kNothingFound;
  const bool is_known = hangs && report.explanation.cause != models::Cause::kInterrupted;
  if (report.stopped && !is_known) {
    console.err << "interrupted before it was known whether the scenario hangs\n";
    return kExitInterrupted;
  }
  if (folder) write_patches(*folder, report.fixes);
  const std::string& name = scenario.graph.name;
  print_report(
      arguments, console, [&] { return viz::fix_json(report, name); },
      [&](const auto&) { return viz::fix_text(report, name); });
  return exit_code_of(report);
}

}  // namespace

Command fix_command() {
  return {
      .name = "fix",
      .about = "Find the smallest changes that remove a hang",
      .usage = {"FILE [options]"},
      .description =
          {"Finds the smallest changes that stop the scenario in FILE from hanging: "
           "other values of its parameters, another stream, more slots, a fixed order of "
           "two collectives, and more. Each is reported with the wait that it breaks, "
           "how certain it is, what it costs, and a patch for 'pipesim run --patch'. The "
           "best comes first.",
           kScenarioFileNote},
      .options = {scenario_options(),
                  {"Output",
                   {{.name = "output",
                     .letter = 'o',
                     .value = "DIR",
                     .about = "Write the patches to DIR/fix_1.yaml, DIR/fix_2.yaml, ...",
                     .output = true},
                    json_option("the changes")}}},
      .examples = {"pipesim fix scenarios/swin_2x2x2.yaml",
                   "pipesim fix scenarios/swin_2x2x2.yaml -o fixes",
                   "pipesim run scenarios/swin_2x2x2.yaml --patch fixes/fix_1.yaml"},
      .exit_status =
          "0 a fix was found, or there is nothing to fix, 1 none was found, 2 invalid "
          "input or usage, 3 undecided (a budget ran out first), 74 a file could not be "
          "read or written, 130 interrupted",
      .pages = {"docs/how-to/fix.md", "docs/reference/patch.md"},
      .run = run_fix,
  };
}

}  // namespace pipesim::app
