// The page of a sweep: which settings hang, how long the others take, and what each hang is.
#pragma once

#include <string>
#include <vector>

#include "models/explain/explanation.hpp"
#include "viz/text/sweep_text.hpp"

namespace pipesim::viz {

/// How many hangs the page tells, each with the end of its first run.
inline constexpr std::size_t kMaxPageHangs = 12;

/// "pipesim sweep a.yaml --vary acc=1..8 --seeds 4": the command of a sweep, whole or in shards.
std::string sweep_command_text(const SweepReport& report);

/// The page as HTML. `ends`: how the first run of each hang ends, as far as that is known (shards
/// have no scenario to run).
std::string sweep_page(const SweepReport& report, const std::vector<models::Explanation>& ends,
                       std::string made_by);

}  // namespace pipesim::viz
