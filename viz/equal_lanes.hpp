// Which ranks look the same over the time of a run, so that pictures and pages show them once.
#pragma once

#include <functional>
#include <string>

#include "models/explain/simulation.hpp"
#include "models/measure/timeline.hpp"

namespace pipesim::viz {

/// What two lanes have in common if they are shown as one: the same ops at the same times, and the
/// same that are stuck, in the same kinds of waits. `on_cycle`: what is marked.
std::string lane_key(const models::TaskGraph& graph, const models::Simulation& run,
                     const models::Lane& lane,
                     const std::function<bool(const models::StuckAct&)>& on_cycle);

}  // namespace pipesim::viz
