#include "pipesim/scenario.hpp"

#include <sstream>
#include <utility>
#include <vector>

#include "app/output/files.hpp"
#include "library/graph_data.hpp"

namespace pipesim {
namespace {

std::string text_of(const std::string& path) {
  try {
    std::istringstream nothing;  // "-" means a file of that name, not standard input
    return app::read_file(path == "-" ? "./-" : path, nothing);
  } catch (const app::FileError& error) {
    throw Error(error.what());
  }
}

}  // namespace

formats::Scenario library::read_scenario(const std::string& text, const Settings& settings,
                                         const std::string& path,
                                         const formats::ReadOptions& options) {
  models::Diagnostics diagnostics;
  const std::vector<formats::Setting> list(settings.begin(), settings.end());
  auto scenario = formats::read_scenario(text, list, diagnostics, options);
  if (!scenario) throw_mistakes(diagnostics, path, text);
  return std::move(*scenario);
}

Graph load_scenario(const std::string& path, const Settings& settings) {
  return parse_scenario(text_of(path), settings, path);
}

Graph parse_scenario(const std::string& text, const Settings& settings, const std::string& path) {
  formats::Scenario scenario = library::read_scenario(text, settings, path);
  Graph::Data data{std::move(scenario.graph), path, text};
  data.rests_on.assign(scenario.rests_on.begin(), scenario.rests_on.end());
  data.read_with = settings;
  return Graph(std::make_shared<const Graph::Data>(std::move(data)));
}

Settings scenario_parameters(const std::string& path, const Settings& settings) {
  Settings result;
  const formats::Scenario scenario = library::read_scenario(text_of(path), settings, path);
  for (const formats::Parameter& parameter : scenario.parameters) {
    result[parameter.name] = formats::to_text(parameter.value);
  }
  return result;
}

}  // namespace pipesim
