// The diagnosis of launch logs, worded like the report of a run.
#pragma once

#include <string>
#include <vector>

#include "viz/report/report.hpp"

#include "features/diagnose/launch_log.hpp"

namespace pipesim::viz {

/// Contents of the report. The log and the diagnosis must outlive the report.
struct LaunchLogReport {
  const models::LaunchLog& log;
  const models::LaunchLogDiagnosis& diagnosis;
  std::vector<models::OutsideText> notes;
  bool all = false;  // whether to show every wait and thread
};

/// Returns the report: verdict, cycle, ranks to look at, launches that do not return, progress of
/// each rank.
std::string launch_log_text(const LaunchLogReport& report, const TextOptions& options);

/// Returns one JSON object with a line end. docs/reference/json.md describes every key.
std::string launch_log_json(const LaunchLogReport& report);

/// Describes in one line how a log and the run of a scenario differ.
std::string difference_line(const models::CountDifference& difference);

}  // namespace pipesim::viz
