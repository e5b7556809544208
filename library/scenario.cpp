#include "pipesim/scenario.hpp"

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

formats::Scenario read(const std::string& text, const Settings& settings, const std::string& path) {
  models::Diagnostics diagnostics;
  const std::vector<formats::Setting> list(settings.begin(), settings.end());
  auto scenario = formats::read_scenario(text, list, diagnostics);
  if (!scenario) library::throw_mistakes(diagnostics, path, text);
  return std::move(*scenario);
}

}  // namespace

Graph load_scenario(const std::string& path, const Settings& settings) {
  return parse_scenario(text_of(path), settings, path);
}

Graph parse_scenario(const std::string& text, const Settings& settings, const std::string& path) {
  models::TaskGraph graph = read(text, settings, path).graph;
  return Graph(std::make_shared<const Graph::Data>(Graph::Data{std::move(graph), path, text}));
}

Settings scenario_parameters(const std::string& path, const Settings& settings) {
  Settings result;
  for (const formats::Parameter& parameter : read(text_of(path), settings, path).parameters) {
    result[parameter.name] = formats::to_text(parameter.value);
  }
  return result;
}

}  // namespace pipesim
