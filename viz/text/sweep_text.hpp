// What a sweep over parameters found: a table for people, CSV and JSON (docs/reference/json.md).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/search/parameter_sweep.hpp"

namespace pipesim::viz {

/// All that is known of a finished sweep.
struct SweepReport {
  std::string path;  // of the scenario, as it was given
  std::string name;
  std::vector<std::pair<std::string, std::string>> settings;  // of all runs
  const models::ParameterGrid& grid;
  const models::SweepCases& cases;
  const std::vector<models::CaseResult>& results;  // by number of the case
  models::SweepSummary summary;
};

/// "A" to "Z", "AA", "AB", ...: SweepSummary::hangs by index.
std::string hang_name(std::size_t index);

/// How to run one case alone.
std::string sweep_run_command(const SweepReport& report, std::uint64_t number);

/// "12.5 %": `part` of `whole`, in tenths; "<0.1 %" and ">99.9 %" where rounding would hide what is
/// not all or nothing.
std::string share_text(std::uint64_t part, std::uint64_t whole);

/// A row for each combination, and below them the distinct hangs with a command that shows each.
std::string sweep_text(const SweepReport& report, bool colour);

/// A row for each run, RFC 4180 with \n.
std::string sweep_csv(const SweepReport& report);

/// One JSON object with a line end.
std::string sweep_json(const SweepReport& report);

}  // namespace pipesim::viz
