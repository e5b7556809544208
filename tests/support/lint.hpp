// Lint findings as text, for comparison in tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/inline_scenario.hpp"

#include "features/lint/lint.hpp"

namespace pipesim::testing {

inline std::vector<models::LintFinding> findings_in(const std::string& text,
                                                    const Settings& settings = {}) {
  models::Diagnostics diagnostics;
  const auto findings = models::lint(scenario_of(text, settings).graph, diagnostics);
  if (!findings) throw std::runtime_error(text_of(diagnostics));
  return *findings;
}

// Returns "rule op op (0 1)" lines, one per finding.
inline std::string told(const std::vector<models::LintFinding>& findings) {
  std::string text;
  for (const models::LintFinding& finding : findings) {
    text += std::string(finding.rule);
    for (const std::string& op : finding.ops) text += " " + op;
    text += " (";
    for (const std::uint32_t rank : finding.ranks) {
      text += (rank == finding.ranks[0] ? "" : " ") + std::to_string(rank);
    }
    text += ")\n";
  }
  return text;
}

inline std::string lint(const std::string& text, const Settings& settings = {}) {
  return told(findings_in(text, settings));
}

inline std::string with(std::string text, const std::string& old, const std::string& now) {
  const std::size_t at = text.find(old);
  if (at == std::string::npos) throw std::runtime_error("the text has no '" + old + "'");
  return text.replace(at, old.size(), now);
}

}  // namespace pipesim::testing
