// What is legal in a task graph but suspect: hangs often begin with it. docs/reference/lint.md is
// the page for people.
//
// Nothing is run. A finding says what can happen, not that it does.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/graph/rank_set.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::models {

/// A rule. Names are stable: scripts ignore rules by them.
struct LintRule {
  std::string_view name;   // buffer-stream
  std::string_view about;  // what it names, one line
  // Public reports of hangs that are its reason ("pytorch#77562"), or what else is.
  std::vector<std::string_view> reports;
};

/// All rules, in the order of the documentation.
const std::vector<LintRule>& lint_rules();

/// The rule of this name, which is one of them.
const LintRule& lint_rule(std::string_view name);

/// One cause, on all ranks that have it. What stands at one place of the file, such as the ops of a
/// layer that is there twelve times, is one cause.
struct LintFinding {
  std::string_view rule;
  Place place;
  std::string message;           // of the first of `ops`, without the ranks
  std::vector<std::string> ops;  // what it is about, in the order of the graph; may be empty
  RankSet ranks;                 // none: it is about no ranks
  std::string why;               // what can happen
  std::string advice;            // what to do; may be empty
};

/// By place, then by rule.
void put_in_order(std::vector<LintFinding>& findings);

/// All findings, in order. Nothing where the graph cannot be laid out,
/// which `diagnostics` then has. Of a graph that still is a model only what is asked of models.
std::optional<std::vector<LintFinding>> lint(const TaskGraph& graph, Diagnostics& diagnostics);

}  // namespace pipesim::models
