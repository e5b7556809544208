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

/// What a finding of a graph with so many ranks names, in one line, with the ranks if not all have
/// it.
std::string lint_message(const models::LintFinding& finding, std::uint32_t ranks);

/// Why it can hang, and what to do, each in one line.
std::vector<std::string> lint_notes(const models::LintFinding& finding);

/// `findings` of a graph with so many ranks, for diagnostic_text.
models::Diagnostics lint_diagnostics(const std::vector<models::LintFinding>& findings,
                                     std::uint32_t ranks);

/// All rules with what they name, for people.
std::string lint_rule_list();

}  // namespace pipesim::viz
