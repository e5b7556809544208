// The task graph as a picture: what runs where, what feeds what, and with how many slots.
#pragma once

#include <string>

#include "models/graph/rank_set.hpp"
#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
#include "viz/draw/graphviz.hpp"

namespace pipesim::viz {

/// The most nodes that are laid out.
inline constexpr std::size_t kMaxTasks = 600;

/// A cluster per rank, in it a lane per stream, in it the tasks; of programs of few acts each act,
/// else each actor; of a schedule what each rank computes (draw_schedule.hpp). Ranks that are
/// copies of each other (models/lowering/rank_classes.hpp) are one, if `fold`. Throws DrawingError,
/// also where there are more than kMaxTasks tasks.
std::string draw_tasks(const models::TaskGraph& graph, const models::Lowered& lowered,
                       const models::RankSet& ranks, bool fold, PictureFormat format);

}  // namespace pipesim::viz
