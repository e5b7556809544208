// The task graph as a picture: what runs where, what feeds what, and with how many slots.
#pragma once

#include <string>

#include "models/graph/rank_set.hpp"
#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
#include "viz/draw/scene.hpp"

namespace pipesim::viz {

/// The most nodes that are laid out.
inline constexpr std::size_t kMaxTasks = 600;

/// Of actors: a frame per class of ranks, in it one per stream, in it the tasks with arrows. Of
/// actors whose picture would have to be too small to read, and of host programs and schedules: a
/// lane per class or rank with its steps in order and its loops as frames (lanes.hpp). Ranks that
/// are copies of each other (models/lowering/rank_classes.hpp) are one, and what few of them have
/// more than the others is marked, unless `style.all`. Throws DrawingError, also where all of more
/// than kMaxTasks tasks are asked for.
std::string draw_tasks(const models::TaskGraph& graph, const models::Lowered& lowered,
                       const models::RankSet& ranks, const PictureStyle& style,
                       PictureFormat format);

}  // namespace pipesim::viz
