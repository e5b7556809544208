// Scenario files in tests: loads and runs them. Tests run at the root of the sources.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "formats/scenario/scenario.hpp"
#include "models/graph/diagnostics.hpp"
#include "models/result/simulation.hpp"

namespace pipesim::testing {

using Settings = std::vector<formats::Setting>;

inline std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Returns all errors, one per line, for the failure message of a test.
inline std::string text_of(const models::Diagnostics& diagnostics) {
  std::string text;
  for (const models::Diagnostic& item : diagnostics.sorted()) {
    text += std::to_string(item.place.line) + ":" + std::to_string(item.place.column) + ": " +
            item.message + "\n";
  }
  return text;
}

inline formats::Scenario load(const std::string& path, const Settings& settings = {}) {
  models::Diagnostics diagnostics;
  auto scenario = formats::read_scenario(file_text(path), settings, diagnostics);
  if (!scenario) throw std::runtime_error(path + ":\n" + text_of(diagnostics));
  return *scenario;
}

inline models::Simulation simulate(const models::TaskGraph& graph,
                                   const sim::RunOptions& options = {}) {
  models::Diagnostics diagnostics;
  auto simulation = models::simulate(graph, diagnostics, options);
  if (!simulation) throw std::runtime_error(text_of(diagnostics));
  return std::move(*simulation);
}

inline models::Explanation explain(const std::string& path, const Settings& settings = {}) {
  return simulate(load(path, settings).graph).explanation;
}

/// Returns the paths of the shipped scenarios, sorted.
inline std::vector<std::string> scenario_paths() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator("scenarios")) {
    paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace pipesim::testing
