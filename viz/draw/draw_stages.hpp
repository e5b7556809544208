// Pipeline stages, or ranks that are copies of each other, and what goes between them.
#pragma once

#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
#include "viz/draw/scene.hpp"

namespace pipesim::viz {

/// Columns in the order of the pipeline. Of a schedule, a column per rank with a box for each of
/// its stages and what that costs; else a box per class of ranks
/// (models/lowering/rank_classes.hpp). Arrows say what goes from one to another. `fold`: places of
/// the pipeline that are equal share a column where they would not fit beside each other.
Scene draw_stages(const models::TaskGraph& graph, const models::Lowered& lowered, bool fold);

}  // namespace pipesim::viz
