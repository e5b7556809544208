// The diagnosis of a real job, in the words of the report of a run.
#pragma once

#include <string>
#include <vector>

#include "models/postmortem/diagnosis.hpp"
#include "models/postmortem/evidence.hpp"
#include "viz/report.hpp"

namespace pipesim::viz {

/// What is shown. The evidence and the diagnosis must outlive it.
struct DiagnosisReport {
  const models::Evidence& evidence;
  const models::Diagnosis& diagnosis;
  std::vector<models::OutsideText> notes;  // on what was read and what not
  bool all = false;                        // every wait, rank and group
  bool why = false;                        // the file and line of each claim
};

/// Verdict, cycle, roots, calls that do not go together, where ranks and groups stand.
std::string diagnosis_text(const DiagnosisReport& report, const TextOptions& options);

/// "undecided": the verdict, as text and JSON say it.
std::string diagnosis_verdict(const models::Diagnosis& diagnosis);

/// One JSON object with a line end. docs/reference/json.md describes every key.
std::string diagnosis_json(const DiagnosisReport& report);

}  // namespace pipesim::viz
