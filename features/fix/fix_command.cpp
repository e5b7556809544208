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
#include "features/fix/fix_json.hpp"
#include "features/fix/fix_text.hpp"
#include "features/fix/patch_writer.hpp"

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

void write_patches(const std::string& folder, const std::vector<std::string>& patches) {
  if (!patches.empty()) make_folder(folder);
  for (std::size_t i = 0; i < patches.size(); ++i) {
    write_file(fmt::format("{}/fix_{}.yaml", folder, i + 1), patches[i]);
  }
  // Removes patches with higher numbers, left by an earlier run.
  std::error_code error;
  for (std::size_t i = patches.size() + 1;
       std::filesystem::remove(fmt::format("{}/fix_{}.yaml", folder, i), error); ++i) {
  }
}

// Returns the parameters that a patch can change. Excludes parameters set by --set, which would
// override the patch.
std::vector<models::Switch> switches_of(const formats::Scenario& scenario,
                                        const ScenarioInput& input) {
  std::vector<models::Switch> switches = formats::switches_of(scenario);
  std::erase_if(switches, [&](const models::Switch& candidate) {
    return std::any_of(input.settings().begin(), input.settings().end(),
                       [&](const formats::Setting& set) { return set.first == candidate.name; });
  });
  return switches;
}

int run_fix(const Arguments& arguments, const Console& console) {
  const ScenarioFiles files = scenario_files(arguments);
  const auto folder = arguments.output_file("output");
  ScenarioInput input(files, console);
  const formats::Scenario scenario = input.read();
  const formats::PatchWriter writer(input.text(), input.patches(), scenario.graph.ranks);
  std::atomic<std::uint64_t> tried = 0;
  const models::GraphWith with =
      [&](const std::vector<models::Change>& changes) -> std::optional<models::TaskGraph> {
    if (changes.empty()) return scenario.graph;
    ++tried;
    const std::optional<std::string> patch = writer.write(changes);
    if (!patch) return std::nullopt;
    auto changed = input.read_with({"a change", *patch});
    if (!changed) return std::nullopt;
    return std::move(changed->graph);
  };
  models::FixOptions options;
  options.stop = console.interrupted;
  const models::FixReport report = input.require([&] {
    const Simulating now(console);
    const ProgressLine progress(console, [&tried] {
      return tried == 0 ? std::string("looking at the hang ...")
                        : fmt::format("trying changes: {} so far", tried.load());
    });
    return models::find_fixes(switches_of(scenario, input), with, options, input.diagnostics());
  }());
  input.report();
  const bool hangs =
      report.found != models::FixCase::kNothing && report.found != models::FixCase::kNothingFound;
  const bool is_known = hangs && report.explanation.cause != models::Cause::kInterrupted;
  if (report.stopped && !is_known) {
    console.err << "interrupted before it was known whether the scenario hangs\n";
    return kExitInterrupted;
  }
  viz::FixView view;
  view.scenario = scenario.graph.name;
  for (const models::Fix& fix : report.fixes) view.patches.push_back(*writer.write(fix.changes));
  for (const models::Fix& fix : report.partial) view.partial.push_back(*writer.write(fix.changes));
  if (folder) write_patches(*folder, view.patches);
  print_report(
      arguments, console, [&] { return viz::fix_json(report, view); },
      [&](const auto&) { return viz::fix_text(report, view); });
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
                     .about = "Write the patches to DIR/fix_1.yaml, DIR/fix_2.yaml, ..."},
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
