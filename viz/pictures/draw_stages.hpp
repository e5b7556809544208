// A picture of pipeline stages, or of classes of identical ranks, and the data sent between them.
#pragma once

#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
#include "viz/pictures/scene.hpp"

namespace pipesim::viz {

/// Draws columns in pipeline order. A schedule has one column per rank, with a box for each stage
/// and its cost. Other graphs have one box per class of ranks (models/lowering/rank_classes.hpp).
/// Arrows are labeled with the data sent. `fold`: equal neighbors share a column if the columns do
/// not fit on one line.
Scene draw_stages(const models::TaskGraph& graph, const models::Lowered& lowered, bool fold);

}  // namespace pipesim::viz
