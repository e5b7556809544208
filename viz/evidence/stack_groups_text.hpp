// Ranks by where they stand, in the words of other reports.
#pragma once

#include <string>
#include <vector>

#include "models/postmortem/stack_evidence.hpp"
#include "viz/report.hpp"

namespace pipesim::viz {

/// What is shown. The diagnosis must outlive it.
struct StackReport {
  const models::StackDumps& dumps;
  const models::StackDiagnosis& diagnosis;
  std::vector<models::OutsideText> notes;
  bool all = false;  // whole stacks
};

/// Verdict, the ranks to look at, and each stack once with the ranks that stand there.
std::string stack_groups_text(const StackReport& report, const TextOptions& options);

/// One JSON object with a line end. docs/reference/json.md describes every key.
std::string stack_groups_json(const StackReport& report);

}  // namespace pipesim::viz
