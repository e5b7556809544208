#include "app/commands/fix_command.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/exit_codes.hpp"
#include "app/output/files.hpp"
#include "app/output/progress.hpp"
#include "formats/edits/patch_writer.hpp"
#include "models/search/fix.hpp"
#include "viz/json/fix_json.hpp"
#include "viz/text/fix_text.hpp"

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
  // Those of a run before, of which there were more, are none of what is told now.
  std::error_code error;
  for (std::size_t i = patches.size() + 1;
       std::filesystem::remove(fmt::format("{}/fix_{}.yaml", folder, i), error); ++i) {
  }
}

// Of parameters that are set on the command line a patch cannot say anything else.
std::vector<models::Switch> switches_of(const formats::Scenario& scenario,
                                        const ScenarioInput& input) {
  std::vector<models::Switch> switches = formats::switches_of(scenario);
  const auto is_set = [&](const models::Switch& given) {
    return std::any_of(input.settings().begin(), input.settings().end(),
                       [&](const formats::Setting& set) { return set.first == given.name; });
  };
  switches.erase(std::remove_if(switches.begin(), switches.end(), is_set), switches.end());
  return switches;
}

}  // namespace

int run_fix(const FixCommand& command, const Console& console) {
  ScenarioInput input(command.files, console);
  models::Diagnostics diagnostics;
  const auto complain = [&] { return input.complain(diagnostics, console); };
  const auto scenario = input.read(diagnostics);
  if (!scenario) return complain();
  const formats::PatchWriter writer(input.text(), input.patches());
  const models::GraphWith with =
      [&](const models::Change* change) -> std::optional<models::TaskGraph> {
    if (change == nullptr) return scenario->graph;
    const std::optional<std::string> patch = writer.write(*change);
    if (!patch) return std::nullopt;
    models::Diagnostics unheard;
    auto changed = input.read_with({"a change", *patch}, unheard);
    if (!changed) return std::nullopt;
    return std::move(changed->graph);
  };
  models::FixOptions options;
  options.stop = console.interrupted;
  const std::optional<models::FixReport> report = [&] {
    const Simulating now(console);
    const ProgressLine progress(console);
    return models::find_fixes(switches_of(*scenario, input), with, options, diagnostics);
  }();
  if (!report) return complain();
  complain();  // warnings
  const bool hangs =
      report->found == models::FixCase::kHangs || report->found == models::FixCase::kHangsInAnother;
  const bool is_known = hangs && report->explanation.cause != models::Cause::kInterrupted;
  if (report->stopped && !is_known) {
    console.err << "pipesim: interrupted: it is not known yet whether it hangs\n";
    return kExitInterrupted;
  }
  viz::FixView view;
  view.scenario = scenario->graph.name;
  for (const models::Fix& fix : report->fixes) view.patches.push_back(*writer.write(fix.change));
  for (const models::Fix& fix : report->partial) view.partial.push_back(*writer.write(fix.change));
  if (command.folder) write_patches(*command.folder, view.patches);
  console.out << (command.json ? viz::fix_json(*report, view) : viz::fix_text(*report, view));
  return exit_code_of(*report);
}

}  // namespace pipesim::app
