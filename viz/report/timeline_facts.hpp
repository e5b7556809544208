// Facts that pictures and pages show next to the lanes of a timeline.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "models/result/simulation.hpp"
#include "models/result/timeline.hpp"

namespace pipesim::viz {

/// Returns the ranks that other ranks wait for in vain, and the first root of each. Excludes ranks
/// cut off by a failed link, which did nothing wrong.
std::map<std::uint32_t, const models::Root*> missing_ranks(const models::Explanation& end);

/// Whether a slice counts as idle: its stream is held up until an event fires.
bool is_idle(const models::Simulation& run, const models::Slice& slice);

/// Returns the share of time in which computing ranks did not compute, as mean, minimum and
/// maximum: "bubble 27.3 %". Overlapping work on two streams counts once. Returns an empty string
/// for a run that did not complete, or has no computation.
std::string idle_text(const models::TaskGraph& graph, const models::Simulation& run,
                      const models::Timeline& timeline);

/// Returns a key of a lane; lanes with equal keys are shown as one. Equal lanes have the same ops
/// at the same times, and the same stuck ops in the same kinds of waits. `on_cycle` selects the ops
/// that are marked.
std::string lane_key(const models::TaskGraph& graph, const models::Simulation& run,
                     const models::Lane& lane,
                     const std::function<bool(const models::StuckOp&)>& on_cycle);

}  // namespace pipesim::viz
