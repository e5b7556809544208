// What is suspect in a task graph, as text.
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

/// All rules with what they name, for people.
std::string lint_rule_list();

}  // namespace pipesim::viz
