// Ranks grouped by their stacks, worded like other reports.
#pragma once

#include <string>
#include <vector>

#include "viz/report/report.hpp"

#include "features/diagnose/stack_evidence.hpp"

namespace pipesim::viz {

/// Contents of the report. The dumps and the diagnosis must outlive the report.
struct StackReport {
  const models::StackDumps& dumps;
  const models::StackDiagnosis& diagnosis;
  std::vector<models::OutsideText> notes;
  bool all = false;  // whether to show whole stacks
};

/// Returns the verdict, the ranks to look at, and each distinct stack with its ranks.
std::string stack_groups_text(const StackReport& report, const TextOptions& options);

/// Returns one JSON object with a line end. docs/reference/json.md describes every key.
std::string stack_groups_json(const StackReport& report);

}  // namespace pipesim::viz
