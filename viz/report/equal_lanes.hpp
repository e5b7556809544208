// Detection of ranks with equal timelines, so that pictures and pages show them once.
#pragma once

#include <functional>
#include <string>

#include "models/result/simulation.hpp"
#include "models/result/timeline.hpp"

namespace pipesim::viz {

/// Returns a key of a lane; lanes with equal keys are shown as one. Equal lanes have the same ops
/// at the same times, and the same stuck ops in the same kinds of waits. `on_cycle` selects the ops
/// that are marked.
std::string lane_key(const models::TaskGraph& graph, const models::Simulation& run,
                     const models::Lane& lane,
                     const std::function<bool(const models::StuckOp&)>& on_cycle);

}  // namespace pipesim::viz
