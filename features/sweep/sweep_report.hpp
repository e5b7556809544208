// The results of a parameter sweep: a text table, CSV, JSON (docs/reference/json.md), a picture and
// a page.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/result/explanation.hpp"

#include "features/sweep/parameter_sweep.hpp"

namespace pipesim::viz {

/// A finished sweep.
struct SweepReport {
  std::string path;  // path of the scenario, as given
  std::string name;
  std::vector<std::pair<std::string, std::string>> settings;  // settings common to all runs
  const models::ParameterGrid& grid;
  const models::SweepCases& cases;
  const std::vector<models::CaseResult>& results;  // indexed by case number
  models::SweepSummary summary;
};

/// Returns the name of SweepSummary::hangs[index]: "A" to "Z", "AA", "AB", ...
std::string hang_name(std::size_t index);

/// Returns the `pipesim run` command for the case `number`.
std::string sweep_run_command(const SweepReport& report, std::uint64_t number);

/// Returns `part` of `whole` as "12.5%", rounded to tenths. Shows "<0.1%" or ">99.9%" if rounding
/// would give 0% or 100% for a part that is neither.
std::string share_text(std::uint64_t part, std::uint64_t whole);

/// Returns a table with a row per point, followed by the distinct hangs with a command for each.
std::string sweep_text(const SweepReport& report, bool colour);

/// Returns a row per run as CSV (RFC 4180, but lines end with a line feed).
std::string sweep_csv(const SweepReport& report);

/// Returns one JSON object with a line end.
std::string sweep_json(const SweepReport& report);

/// Returns an SVG plot with two panels: the share of runs that do not complete, and the times of
/// completed runs (median and range). The x axis is the first variable with numeric values, else
/// the first variable. Each combination of the other variables is a line with its own color, marker
/// and dashes.
std::string sweep_plot(const SweepReport& report, const std::string& made_by = {});

/// Maximum number of hangs on the page, each with the end of its first run.
inline constexpr std::size_t kMaxPageHangs = 12;

/// Returns the command of the whole sweep, even if the sweep ran in shards: "pipesim sweep a.yaml
/// --vary acc=1..8 --seeds 4".
std::string sweep_command_text(const SweepReport& report);

/// Returns the page as HTML. `ends` has the end of the first run of each hang, if known: merged
/// shards have no scenario to run.
std::string sweep_page(const SweepReport& report, const std::vector<models::Explanation>& ends,
                       std::string made_by);

}  // namespace pipesim::viz
