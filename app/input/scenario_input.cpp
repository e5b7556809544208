#include "app/input/scenario_input.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/input/schedule_input.hpp"
#include "app/output/files.hpp"
#include "formats/scenario/schedule_csv.hpp"
#include "models/lowering/lowering.hpp"

namespace pipesim::app {
namespace {

// The title of the scenario of a job of another tool.
std::string title_of_job(const std::string& path) { return shown_path(path) + " as a scenario"; }

}  // namespace

TextInput read_scenario_text(const std::string& path, const Console& console,
                             const std::string& rules) {
  if (is_foreign_path(path)) {
    return {title_of_job(path), read_foreign_job(path, console)->scenario(rules), console};
  }
  return TextInput::read(
      path, is_schedule_path(path) ? formats::kMaxScheduleBytes : formats::kMaxScenarioBytes,
      console);
}

void note_choices(const formats::Scenario& scenario, const Console& console) {
  std::vector<std::string> names;
  for (const formats::Parameter& parameter : scenario.parameters) {
    if (parameter.is_free_choice()) names.push_back(parameter.name);
  }
  if (names.empty()) return;
  console.err << fmt::format(
      "note: the job can go either way: {}. This is one way; 'pipesim check' tries all of them\n",
      fmt::join(names, ", "));
}

ScenarioInput::ScenarioInput(const ScenarioFiles& files, const Console& console)
    : TextInput("", "", console),
      path_(shown_path(files.path)),
      rules_(files.rules),
      is_schedule_(is_schedule_path(files.path)),
      settings_(files.settings) {
  job_ = files.job;
  if (!job_ && is_foreign_path(files.path)) job_ = read_foreign_job(files.path, console);
  if (job_) {
    shown_path_ = title_of_job(files.path);
    write_text_ = [job = job_, rules = files.rules] { return job->scenario(rules); };
  } else {
    const TextInput input = read_scenario_text(files.path, console);
    shown_path_ = input.title();
    text_ = input.text();
  }
  for (const std::string& patch : files.patches) {
    patches_.push_back(
        {shown_path(patch), read_file(patch, console.in, formats::kMaxScenarioBytes)});
  }
}

// Returns the document of job_. Keeps a small one, and any that is read twice.
std::optional<formats::YamlDocument> ScenarioInput::document() const {
  constexpr std::size_t kMaxKept = 100'000;
  if (document_) return document_;
  std::optional<formats::YamlDocument> made = job_->document(rules_);
  if (made && (was_read_ || made->size() <= kMaxKept)) document_ = made;
  was_read_ = true;
  return made;
}

std::optional<formats::Scenario> ScenarioInput::read_as(const std::vector<formats::Setting>& more,
                                                        models::Diagnostics& diagnostics,
                                                        const formats::ReadOptions& options) const {
  std::vector<formats::Setting> settings = settings_;
  settings.insert(settings.end(), more.begin(), more.end());
  if (job_) {
    if (auto made = document()) {
      return formats::read_scenario(std::move(*made), settings, diagnostics, options);
    }
  }
  return formats::read_scenario(text(), settings, diagnostics, options);
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
  std::optional<formats::Scenario> scenario = read_as({}, diagnostics_, {.patches = patches_});
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
  return read_as({}, diagnostics, {.build_model = false, .patches = patches_});
}

void ScenarioInput::add_settings(const std::vector<formats::Setting>& more) {
  settings_.insert(settings_.end(), more.begin(), more.end());
}

std::optional<formats::Scenario> ScenarioInput::read_with(
    formats::PatchText patch, const std::vector<formats::Setting>& more) const {
  std::vector<formats::PatchText> patches = patches_;
  patches.push_back(std::move(patch));
  models::Diagnostics ignored;
  return read_as(more, ignored, {.patches = std::move(patches)});
}

std::optional<formats::Scenario> ScenarioInput::read_with(
    const std::vector<formats::Setting>& more) const {
  models::Diagnostics ignored;
  return read_as(more, ignored, {.patches = patches_});
}

std::optional<formats::Scenario> ScenarioInput::read_with(const std::vector<formats::Setting>& more,
                                                          bool sends_empty_parts) const {
  models::Diagnostics ignored;
  return read_as(more, ignored, {.patches = patches_, .sends_empty_parts = sends_empty_parts});
}

namespace {

namespace fs = std::filesystem;

bool has_schema(const std::string& path) {
  std::istringstream none;
  try {
    const std::string text = read_file(path, none, formats::kMaxScenarioBytes);
    return text.rfind("schema:", 0) == 0 || text.find("\nschema:") != std::string::npos;
  } catch (const FileError&) {
    return true;  // the later read reports the error
  }
}

bool is_hidden(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.size() > 1 && name.front() == '.' && name != "..";
}

using IsWanted = bool (*)(const std::string& path);

std::vector<std::string> files_below(const std::string& folder, IsWanted is_wanted) {
  const auto belongs = [&](const fs::path& path) {
    if (is_wanted != nullptr && is_wanted(path.string())) return true;
    const bool is_yaml = path.extension() == ".yaml" || path.extension() == ".yml";
    return is_yaml && has_schema(path.string());
  };
  std::vector<std::string> files;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  while (!error && entry != fs::recursive_directory_iterator()) {
    const fs::path& path = entry->path();
    std::error_code status;
    if (is_hidden(path)) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file(status) && belongs(path)) {
      files.push_back(folder == "." ? path.lexically_relative(".").string() : path.string());
    }
    entry.increment(error);
  }
  if (error) {
    throw FileError(models::Code::kFile,
                    fmt::format("cannot read '{}': {}", folder, error.message()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::vector<std::string> scenario_paths(const std::vector<std::string>& paths, IsWanted is_wanted) {
  std::error_code error;
  const bool has_scenarios = fs::is_directory("scenarios", error);
  const std::vector<std::string> from =
      paths.empty() ? std::vector<std::string>{has_scenarios ? "scenarios" : "."} : paths;
  std::vector<std::string> files;
  std::set<std::string> seen;
  for (const std::string& path : from) {
    const bool folder = path != "-" && fs::is_directory(path, error) && !has_foreign_job(path);
    for (const std::string& file :
         folder ? files_below(path, is_wanted) : std::vector<std::string>{path}) {
      if (seen.insert(fs::path(file).lexically_normal().string()).second) files.push_back(file);
    }
  }
  return files;
}

void require_readable(const std::string& text, const std::string& source) {
  models::Diagnostics diagnostics;
  const auto scenario = formats::read_scenario(text, {}, diagnostics);
  if (scenario && models::lower(scenario->graph, diagnostics)) return;
  const models::Diagnostic first = diagnostics.sorted().front();
  throw InputError(
      models::Code::kContradiction,
      fmt::format("{}: the scenario made from it is not valid, and was not written: {}", source,
                  first.message));
}

}  // namespace pipesim::app
