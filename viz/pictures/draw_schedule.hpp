// The tasks of a pipeline schedule: the order in which each rank computes.
#pragma once

#include <string>

#include "models/graph/pipeline.hpp"
#include "models/graph/rank_set.hpp"
#include "viz/pictures/lanes.hpp"

namespace pipesim::viz {

/// Returns a lane for each schedule row that `ranks` use, with its forwards and backwards. `fold`:
/// repeated parts of long rows become loops, and only some of many rows are shown. `title` is the
/// text above the lanes.
TaskLanes schedule_lanes(const models::Pipeline& pipeline, const models::RankSet& ranks,
                         const std::string& title, bool fold);

}  // namespace pipesim::viz
