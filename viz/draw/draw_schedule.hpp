// The tasks of a pipeline schedule: what each rank computes in which order.
#pragma once

#include <string>

#include "models/graph/pipeline.hpp"
#include "models/graph/rank_set.hpp"
#include "viz/draw/lanes.hpp"

namespace pipesim::viz {

/// A lane per row of the schedule that some of `ranks` do, with its forwards and backwards. `fold`:
/// of long rows what repeats is a loop, and of many rows some are shown. `title` stands above.
TaskLanes schedule_lanes(const models::Pipeline& pipeline, const models::RankSet& ranks,
                         const std::string& title, bool fold);

}  // namespace pipesim::viz
