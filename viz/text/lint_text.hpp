// What is suspect in a task graph, as text and as data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/lint/lint.hpp"

namespace pipesim::viz {

/// The page that describes a rule, below the root of the sources.
std::string lint_page(std::string_view rule);

/// `findings` of a graph with so many ranks, for diagnostic_text.
models::Diagnostics lint_diagnostics(const std::vector<models::LintFinding>& findings,
                                     std::uint32_t ranks);

/// One JSON object with a line end; docs/reference/json.md describes every key.
std::string lint_json(const std::vector<models::LintFinding>& findings, std::string_view scenario);

/// All rules with what they name, for people.
std::string lint_rule_list();

}  // namespace pipesim::viz
