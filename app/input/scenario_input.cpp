#include "app/input/scenario_input.hpp"

#include <memory>
#include <utility>

#include "app/input/input_kinds.hpp"
#include "app/input/schedule_input.hpp"
#include "app/output/files.hpp"
#include "formats/scenario/schedule_csv.hpp"

namespace pipesim::app {
namespace {

TextInput scenario_of(const ForeignJob& job, const std::string& path, const std::string& rules,
                      const Console& console) {
  return {shown_path(path) + " as a scenario", job.scenario(rules), console};
}

}  // namespace

bool is_goal_path(const std::string& path) {
  constexpr std::string_view kExtension = ".goal";
  return path.size() > kExtension.size() && path.ends_with(kExtension);
}

TextInput read_scenario_text(const std::string& path, const Console& console,
                             const std::string& rules) {
  if (is_foreign_path(path)) {
    return scenario_of(*read_foreign_job(path, console), path, rules, console);
  }
  return TextInput::read(
      path, is_schedule_path(path) ? formats::kMaxScheduleBytes : formats::kMaxScenarioBytes,
      console);
}

ScenarioInput::ScenarioInput(const ScenarioFiles& files, const Console& console)
    : TextInput("", "", console),
      path_(shown_path(files.path)),
      rules_(files.rules),
      is_schedule_(is_schedule_path(files.path)),
      settings_(files.settings) {
  if (is_foreign_path(files.path)) job_ = read_foreign_job(files.path, console);
  TextInput input = job_ ? scenario_of(*job_, files.path, files.rules, console)
                         : read_scenario_text(files.path, console);
  shown_path_ = input.title();
  text_ = input.take_text();
  for (const std::string& patch : files.patches) {
    patches_.push_back(
        {shown_path(patch), read_file(patch, console.in, formats::kMaxScenarioBytes)});
  }
}

formats::Scenario ScenarioInput::read() { return require(try_read()); }

std::optional<formats::Scenario> ScenarioInput::try_read() {
  if (is_schedule_) {
    auto scenario = scenario_of_schedule(text_, path_, diagnostics_);
    if (!scenario) return std::nullopt;
    text_ = std::move(*scenario);
    shown_path_ += " as a scenario";
    is_schedule_ = false;
  }
  std::optional<formats::Scenario> scenario =
      formats::read_scenario(text_, settings_, diagnostics_, {.patches = patches_});
  if (!job_) return scenario;
  // A patch can add and remove steps, so a patched scenario has no names from the job.
  std::shared_ptr<const models::Recorded> names;
  if (scenario && patches_.empty()) names = job_->names(rules_, scenario->graph);
  job_->report_findings(console_, names.get());
  if (scenario) scenario->graph.recorded = std::move(names);
  return scenario;
}

std::optional<formats::Scenario> ScenarioInput::read_variant(const std::string& text) const {
  models::Diagnostics ignored;
  return formats::read_scenario(text, settings_, ignored, {.patches = patches_});
}

std::optional<formats::Scenario> ScenarioInput::read_model(models::Diagnostics& diagnostics) const {
  return formats::read_scenario(text_, settings_, diagnostics,
                                {.build_model = false, .patches = patches_});
}

std::optional<formats::Scenario> ScenarioInput::read_with(formats::PatchText patch) const {
  std::vector<formats::PatchText> patches = patches_;
  patches.push_back(std::move(patch));
  models::Diagnostics ignored;
  return formats::read_scenario(text_, settings_, ignored, {.patches = std::move(patches)});
}

std::optional<formats::Scenario> ScenarioInput::read_with(
    const std::vector<formats::Setting>& more) const {
  std::vector<formats::Setting> settings = settings_;
  settings.insert(settings.end(), more.begin(), more.end());
  models::Diagnostics ignored;
  return formats::read_scenario(text_, settings, ignored, {.patches = patches_});
}

std::optional<formats::Scenario> ScenarioInput::read_with(const std::vector<formats::Setting>& more,
                                                          bool sends_empty_parts) const {
  std::vector<formats::Setting> settings = settings_;
  settings.insert(settings.end(), more.begin(), more.end());
  models::Diagnostics ignored;
  return formats::read_scenario(text_, settings, ignored,
                                {.patches = patches_, .sends_empty_parts = sends_empty_parts});
}

}  // namespace pipesim::app
