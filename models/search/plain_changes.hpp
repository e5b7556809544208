// Simplifications of a job: its rules, sizes and names, which a hang often does not need.
#pragma once

#include <functional>
#include <vector>

#include "models/graph/task_graph.hpp"

namespace pipesim::models {

/// Independent changes to try. Each one removes a detail of `graph` beyond its actors, steps and
/// durations, or resets it to its default. Message sizes stay, because they decide what NCCL can
/// buffer.
std::vector<std::function<void(TaskGraph&)>> plain_changes(const TaskGraph& graph);

}  // namespace pipesim::models
