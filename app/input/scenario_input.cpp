#include "app/input/scenario_input.hpp"

#include <utility>

#include "app/exit_codes.hpp"
#include "app/input/schedule_input.hpp"
#include "app/output/files.hpp"
#include "formats/torch/schedule_csv.hpp"

namespace pipesim::app {
namespace {

std::string shown(const std::string& path) { return path == "-" ? "standard input" : path; }

}  // namespace

std::string read_scenario_text(const std::string& path, const Console& console) {
  const std::size_t most =
      is_schedule_path(path) ? formats::kMostScheduleBytes : formats::kMostScenarioBytes;
  return read_file(path, console.in, most);
}

ScenarioInput::ScenarioInput(const ScenarioFiles& files, const Console& console)
    : path_(shown(files.path)),
      source_path_(path_),
      text_(read_scenario_text(files.path, console)),
      is_schedule_(is_schedule_path(files.path)),
      settings_(files.settings) {
  for (const std::string& patch : files.patches) {
    patches_.push_back({shown(patch), read_file(patch, console.in, formats::kMostScenarioBytes)});
  }
}

std::optional<formats::Scenario> ScenarioInput::read(models::Diagnostics& diagnostics,
                                                     bool build_model) {
  if (is_schedule_) {
    auto imported = scenario_of_schedule(text_, path_, diagnostics);
    if (!imported) return std::nullopt;
    text_ = std::move(*imported);
    source_path_ += " as a scenario";
    is_schedule_ = false;
  }
  return formats::read_scenario(text_, settings_, diagnostics,
                                {.build_model = build_model, .patches = patches_});
}

std::optional<formats::Scenario> ScenarioInput::read_with(formats::PatchText patch,
                                                          models::Diagnostics& diagnostics) const {
  std::vector<formats::PatchText> patches = patches_;
  patches.push_back(std::move(patch));
  return formats::read_scenario(text_, settings_, diagnostics, {.patches = std::move(patches)});
}

std::string ScenarioInput::text_of(const models::Diagnostics& diagnostics, bool colour) const {
  return viz::diagnostic_text(diagnostics, sources_of(source_path_, text_, patches_), colour);
}

int ScenarioInput::complain(const models::Diagnostics& diagnostics, const Console& console) const {
  console.err << text_of(diagnostics, console.err_colour);
  return kExitUsage;
}

std::vector<viz::SourceText> sources_of(const std::string& path, const std::string& text,
                                        const std::vector<formats::PatchText>& patches) {
  std::vector<viz::SourceText> sources = {{path, text}};
  for (const formats::PatchText& patch : patches) sources.push_back({patch.path, patch.text});
  return sources;
}

}  // namespace pipesim::app
