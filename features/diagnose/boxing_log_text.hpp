// The report on a boxing log: the partial sums made from broadcasts.
#pragma once

#include <string>
#include <vector>

#include "features/diagnose/boxing_log.hpp"

namespace pipesim::viz {

/// Contents of the report. The rows must outlive the report.
struct BoxingReport {
  std::string name;
  const std::vector<models::LoggedBoxing>& rows;
  std::vector<models::OutsideText> notes;  // notes about lines that were read or skipped
  bool all = false;                        // whether to show every partial sum
};

/// Returns the rows that make a partial sum.
std::vector<models::LoggedBoxing> partial_sums(const BoxingReport& report);

/// Returns the number of partial sums, and a table of them.
std::string boxing_log_text(const BoxingReport& report);

/// Returns one JSON object with a line end. docs/reference/json.md describes every key.
std::string boxing_log_json(const BoxingReport& report);

}  // namespace pipesim::viz
