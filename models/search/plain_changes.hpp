// What a job says beside its work, and often without need: rules, sizes, names for people.
#pragma once

#include <functional>
#include <vector>

#include "models/graph/task_graph.hpp"

namespace pipesim::models {

/// Changes to try, each for itself: what `graph` says beyond its actors, steps and their times is
/// left out or becomes what holds where nothing is said. Sizes of messages stay, which NCCL's
/// buffers have to hold.
std::vector<std::function<void(TaskGraph&)>> plain_changes(const TaskGraph& graph);

}  // namespace pipesim::models
