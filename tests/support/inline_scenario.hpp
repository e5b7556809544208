// Reads, lowers or runs scenarios written as text in a test, and lists their errors.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>

#include "formats/scenario/scenario.hpp"
#include "models/graph/diagnostics.hpp"
#include "models/lowering/lowering.hpp"
#include "models/result/simulation.hpp"
#include "tests/support/scenario.hpp"

namespace pipesim::testing {

/// Returns the scenario in `text`; throws if `text` has an error.
inline formats::Scenario scenario_of(const std::string& text, const Settings& settings = {}) {
  models::Diagnostics diagnostics;
  auto scenario = formats::read_scenario(text, settings, diagnostics);
  if (!scenario) throw std::runtime_error(text_of(diagnostics));
  return std::move(*scenario);
}

inline models::Lowered lowered_of(const std::string& text, const Settings& settings = {}) {
  models::Diagnostics diagnostics;
  auto lowered = models::lower(scenario_of(text, settings).graph, diagnostics);
  if (!lowered) throw std::runtime_error(text_of(diagnostics));
  return std::move(*lowered);
}

inline models::Explanation explanation_of(const std::string& text, const Settings& settings = {}) {
  return simulate(scenario_of(text, settings).graph).explanation;
}

inline models::Explanation explanation_in_contract(const std::string& text) {
  return explanation_of(text, {{"reading", "contract"}});
}

/// Returns all errors with their places and notes, one per line, sorted by place. Lowers the
/// scenario, and lists the errors of lowering, only if reading finds no error.
inline std::string mistakes_in(const std::string& text, const Settings& settings = {}) {
  models::Diagnostics diagnostics;
  const auto scenario = formats::read_scenario(text, settings, diagnostics);
  if (scenario) models::lower(scenario->graph, diagnostics);
  std::string result;
  for (const models::Diagnostic& item : diagnostics.sorted()) {
    result += std::to_string(item.place.line) + ":" + std::to_string(item.place.column) + ": " +
              item.message + "\n";
    for (const std::string& note : item.notes) result += "  " + note + "\n";
  }
  return result;
}

}  // namespace pipesim::testing
