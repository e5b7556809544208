// The page of a sweep: the settings that hang, the times of all other settings, and each distinct
// hang.
#pragma once

#include <string>
#include <vector>

#include "models/result/explanation.hpp"

#include "features/sweep/sweep_text.hpp"

namespace pipesim::viz {

/// Maximum number of hangs on the page, each with the end of its first run.
inline constexpr std::size_t kMaxPageHangs = 12;

/// Returns the command of the whole sweep, also if the sweep ran in shards: "pipesim sweep a.yaml
/// --vary acc=1..8 --seeds 4".
std::string sweep_command_text(const SweepReport& report);

/// Returns the page as HTML. `ends` has the end of the first run of each hang, if known: merged
/// shards have no scenario to run.
std::string sweep_page(const SweepReport& report, const std::vector<models::Explanation>& ends,
                       std::string made_by);

}  // namespace pipesim::viz
