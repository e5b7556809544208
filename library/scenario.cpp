#include "pipesim/scenario.hpp"

#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "app/output/files.hpp"
#include "formats/scenario/scenario.hpp"
#include "library/graph_data.hpp"

namespace pipesim {
namespace {

std::string text_of(const std::string& path) {
  try {
    std::istringstream nothing;  // `-` is no file here
    return app::read_file(path == "-" ? "./-" : path, nothing);
  } catch (const app::FileError& error) {
    throw Error(error.what());
  }
}

formats::Scenario read(const std::string& text, const Settings& settings, const std::string& path,
                       std::optional<bool> sends_empty_parts = std::nullopt) {
  models::Diagnostics diagnostics;
  const std::vector<formats::Setting> list(settings.begin(), settings.end());
  auto scenario =
      formats::read_scenario(text, list, diagnostics, {.sends_empty_parts = sends_empty_parts});
  if (!scenario) library::throw_mistakes(diagnostics, path, text);
  return std::move(*scenario);
}

}  // namespace

Graph load_scenario(const std::string& path, const Settings& settings) {
  return parse_scenario(text_of(path), settings, path);
}

Graph parse_scenario(const std::string& text, const Settings& settings, const std::string& path) {
  formats::Scenario scenario = read(text, settings, path);
  Graph::Data data{std::move(scenario.graph), path, text};
  data.rests_on.assign(scenario.rests_on.begin(), scenario.rests_on.end());
  const models::ProcessGroups& groups = data.graph.process_groups;
  if (groups.has_empty_parts) {
    data.other_parts = read(text, settings, path, !groups.sends_them).graph;
  }
  return Graph(std::make_shared<const Graph::Data>(std::move(data)));
}

Settings scenario_parameters(const std::string& path, const Settings& settings) {
  Settings result;
  for (const formats::Parameter& parameter : read(text_of(path), settings, path).parameters) {
    result[parameter.name] = formats::to_text(parameter.value);
  }
  return result;
}

}  // namespace pipesim
