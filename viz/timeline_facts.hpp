// What pictures and pages of time say beside their lanes.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "models/explain/simulation.hpp"
#include "models/measure/timeline.hpp"

namespace pipesim::viz {

/// Ranks for which others wait in vain, and what waits for each of them first. One that is cut off
/// did nothing wrong.
std::map<std::uint32_t, const models::Root*> guilty_ranks(const models::Explanation& end);

/// A stream that is held up until an event has fired has nothing to do: idle, as far as people see.
bool is_idle(const models::Simulation& run, const models::Slice& slice);

/// "bubble 27.3 %": the share of the time in which the ranks with something to compute did not; of
/// all, the least and the most. Computing on two streams at once counts once. Empty of a run that
/// did not complete, or computed nothing.
std::string idle_text(const models::TaskGraph& graph, const models::Simulation& run,
                      const models::Timeline& timeline);

}  // namespace pipesim::viz
