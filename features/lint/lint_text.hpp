// The findings of lint in a task graph, as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "viz/report/annotations.hpp"

#include "features/lint/lint.hpp"

namespace pipesim::viz {

/// Returns the page that describes a rule, relative to the root of the sources.
std::string lint_page(std::string_view rule);

/// Returns the message of a finding in one line, for a graph with `ranks` ranks. Names the affected
/// ranks, unless all are affected.
std::string lint_message(const models::LintFinding& finding, std::uint32_t ranks);

/// Returns why the finding can hang and what to do, one line each.
std::vector<std::string> lint_notes(const models::LintFinding& finding);

/// Converts `findings` in a graph with `ranks` ranks for diagnostic_text().
models::Diagnostics lint_diagnostics(const std::vector<models::LintFinding>& findings,
                                     std::uint32_t ranks);

/// Returns an annotation per finding in a graph with `ranks` ranks.
std::vector<Annotation> lint_annotations(const std::vector<models::LintFinding>& findings,
                                         std::uint32_t ranks,
                                         const std::vector<SourceText>& sources);

/// Returns a table of all rules, each with its subject.
std::string lint_rule_list();

}  // namespace pipesim::viz
