// Construction of a task graph's actors from the ops of a model: OneFlow's TaskGraph (core/graph/
// at a90c81d589), and the memory constraints that its plan adds.
#pragma once

#include <cstdint>

#include "models/graph/diagnostics.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::models {

/// Options of build-tasks.
struct TaskOptions {
  bool zeros_on_all_ranks = false;  // whether NaiveB2P gives the tensor to no rank of a group
  std::int64_t zeros_slots = 1;     // slots of each BoxingZeros
  // Whether the edge to zeros names its tensor, as it does since OneFlow's #8052.
  bool partial_sums_name_tensor = true;
  // Whether to protect the memory that a chain shares, see add_chain_order().
  bool memory_guard = true;
};

/// Makes the actors of all ops of `graph.logical`, with the streams, groups and communicators that
/// they need. Ops are handled in topological order; boxing tasks precede their reader. If an edge
/// cannot be boxed, reports an error and returns false.
bool build_tasks(TaskGraph& graph, const TaskOptions& options, Diagnostics& diagnostics);

}  // namespace pipesim::models
