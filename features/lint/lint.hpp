// Lint reports constructs of a task graph that are legal but often lead to hangs.
// docs/reference/lint.md is the user documentation.
//
// Lint does not run the job. A finding states what can happen, not what does happen.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/graph/rank_set.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::models {

/// A lint rule. Names are stable: scripts ignore rules by name.
struct LintRule {
  std::string_view name;   // name, such as "buffer-stream"
  std::string_view about;  // subject of the rule, one line
  // Public reports of hangs that motivate the rule ("pytorch#77562"), or another source.
  std::vector<std::string_view> reports;
};

/// All rules, in the order of the documentation.
const std::vector<LintRule>& lint_rules();

/// Returns the rule with this name, which must exist.
const LintRule& lint_rule(std::string_view name);

/// A problem with one cause, on all affected ranks. Ops from one place of the file, such as the ops
/// of a layer repeated twelve times, share one cause.
struct LintFinding {
  std::string_view rule;
  Place place;
  std::string message;             // message for the first of `ops`; names no ranks
  std::vector<std::string> ops{};  // affected ops, in graph order; can be empty
  RankSet ranks{};                 // affected ranks; empty: the finding is not about ranks
  std::string why{};               // possible consequence
  std::string advice{};            // suggested change; can be empty
};

/// Sorts findings by place, then by rule.
void put_in_order(std::vector<LintFinding>& findings);

/// Returns all findings, sorted. Returns nullopt, with errors in `diagnostics`, if the graph cannot
/// be lowered. For a graph that is still a model, applies only the rules for models.
std::optional<std::vector<LintFinding>> lint(const TaskGraph& graph, Diagnostics& diagnostics);

}  // namespace pipesim::models
