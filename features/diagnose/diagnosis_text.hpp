// The diagnosis of a real job, worded like the report of a run.
#pragma once

#include <string>
#include <vector>

#include "viz/report/report.hpp"

#include "features/diagnose/diagnosis.hpp"
#include "features/diagnose/evidence.hpp"

namespace pipesim::viz {

/// Contents of the report. The evidence and the diagnosis must outlive the report.
struct DiagnosisReport {
  const models::Evidence& evidence;
  const models::Diagnosis& diagnosis;
  std::vector<models::OutsideText> notes;  // notes about evidence that was read or skipped
  bool all = false;                        // whether to show every wait, rank and group
  bool why = false;                        // whether to show the file and line of each claim
};

/// Returns the report: verdict, cycle, roots, mismatched calls, and the progress of ranks and
/// groups.
std::string diagnosis_text(const DiagnosisReport& report, const TextOptions& options);

/// Returns the text of the verdict for reports and JSON: "undecided".
std::string diagnosis_verdict(const models::Diagnosis& diagnosis);

/// Returns one JSON object with a line end. docs/reference/json.md describes every key.
std::string diagnosis_json(const DiagnosisReport& report);

}  // namespace pipesim::viz
