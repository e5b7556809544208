// The findings of lint in a task graph or a script, for terminals, JSON and code hosts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "viz/report/annotations.hpp"
#include "viz/report/section.hpp"

#include "features/lint/lint.hpp"

namespace pipesim::viz {

/// Returns the report of the findings in a graph with `ranks` ranks. `what` is "scenario" or
/// "script", and `name` is its name. docs/reference/json.md describes every key.
Section lint_report(const std::vector<models::LintFinding>& findings, std::string_view what,
                    std::string_view name, std::uint32_t ranks);

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
