// What logs of launches say, in the words of the report of a run.
#pragma once

#include <string>
#include <vector>

#include "models/postmortem/launch_log.hpp"
#include "viz/report.hpp"

namespace pipesim::viz {

/// What is shown. The log and the diagnosis must outlive it.
struct LaunchLogReport {
  const models::LaunchLog& log;
  const models::LaunchLogDiagnosis& diagnosis;
  std::vector<models::OutsideText> notes;
  bool all = false;  // every wait and thread
};

/// Verdict, cycle, ranks to look at, launches that do not return, where each rank stands.
std::string launch_log_text(const LaunchLogReport& report, const TextOptions& options);

/// One JSON object with a line end. docs/reference/json.md describes every key.
std::string launch_log_json(const LaunchLogReport& report);

/// What a log and the run of a scenario do not agree on, in one line.
std::string difference_line(const models::CountDifference& difference);

}  // namespace pipesim::viz
