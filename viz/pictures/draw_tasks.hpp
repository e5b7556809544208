// A picture of the task graph: the tasks of each stream, their inputs and their slots.
#pragma once

#include <string>

#include "models/graph/rank_set.hpp"
#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
#include "viz/pictures/scene.hpp"

namespace pipesim::viz {

/// Maximum number of nodes in a layout.
inline constexpr std::size_t kMaxTasks = 600;

/// Draws a task graph. Actors have a frame per class of ranks, with a frame per stream, and arrows
/// between tasks. Host programs and schedules have a lane per class or rank, and so do actors that
/// would be too small to read. A lane shows the steps in order, with loops as frames (lanes.hpp).
///
/// Unless `style.all`, identical ranks (models/lowering/rank_classes.hpp) are drawn once, and their
/// rare extra tasks are marked. Throws DrawingError, for example if `style.all` asks for more than
/// kMaxTasks tasks.
std::string draw_tasks(const models::TaskGraph& graph, const models::Lowered& lowered,
                       const models::RankSet& ranks, const PictureStyle& style,
                       PictureFormat format);

}  // namespace pipesim::viz
