// From the ops of a model to the actors of a task graph: OneFlow's TaskGraph (core/graph/ at
// a90c81d589), and what its plan adds about memory.
#pragma once

#include <cstdint>

#include "models/graph/diagnostics.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::models {

/// What build-tasks may be told.
struct TaskOptions {
  bool zeros_on_all_ranks = false;       // of NaiveB2P: the first rank of a group has none
  std::int64_t zeros_slots = 1;          // of a BoxingZeros
  bool partial_sums_name_tensor = true;  // #8052
  bool memory_guard = true;              // of the memory that a chain shares
};

/// Makes the actors of all ops of `graph.logical`, with the streams, groups and communicators that
/// they need. Ops are taken in topological order, and what boxing puts in stands before its reader.
/// False, with errors, where an edge cannot be boxed.
bool build_tasks(TaskGraph& graph, const TaskOptions& options, Diagnostics& diagnostics);

}  // namespace pipesim::models
