// What a boxing log says: the partial sums that are made from broadcasts.
#pragma once

#include <string>
#include <vector>

#include "models/postmortem/boxing_log.hpp"

namespace pipesim::viz {

/// What is shown. The rows must outlive it.
struct BoxingReport {
  std::string name;
  const std::vector<models::LoggedBoxing>& rows;
  std::vector<models::OutsideText> notes;  // on what was read and what not
  bool all = false;                        // every partial sum
};

/// Those of the rows.
std::vector<models::LoggedBoxing> partial_sums(const BoxingReport& report);

/// How many there are, and a table of them.
std::string boxing_log_text(const BoxingReport& report);

/// One JSON object with a line end. docs/reference/json.md describes every key.
std::string boxing_log_json(const BoxingReport& report);

}  // namespace pipesim::viz
