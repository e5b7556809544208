// Simplifications of a job: removal of rules, sizes and names that a hang often does not need.
#pragma once

#include <functional>
#include <vector>

#include "models/graph/task_graph.hpp"

namespace pipesim::models {

/// Returns independent changes to try. Each change removes a detail of `graph` other than its
/// actors, steps and durations, or resets the detail to its default. Sizes of sends and recvs stay,
/// because they decide what NCCL can buffer.
std::vector<std::function<void(TaskGraph&)>> plain_changes(const TaskGraph& graph);

}  // namespace pipesim::models
