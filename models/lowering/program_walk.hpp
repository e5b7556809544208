// Host programs as one rank does them.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "models/graph/task_graph.hpp"

namespace pipesim::models {

/// A step as it stands in the program of a rank, and the block that repeats it.
struct WalkedStep {
  std::uint32_t actor = kNoIndex;
  const ProgramStep* block = nullptr;  // the innermost that repeats; null: none does
};

/// What `rank` does on `thread`, in order, each block once. What `after` implies is among it.
std::vector<WalkedStep> walk_program(const HostThread& thread, const TaskGraph& graph,
                                     std::uint32_t rank);

/// The streams for which each actor of `graph` waits by an `after` or a `behind`, by actor.
std::vector<std::set<std::uint32_t>> awaited_streams(const TaskGraph& graph);

/// Whether the step `later`, which stands behind `before` on a rank, may need what that does: then
/// the two cannot change places without changing what the job computes. Calls are taken to be
/// independent of each other, as far as nothing says otherwise.
bool may_need(const TaskGraph& graph, const std::vector<std::set<std::uint32_t>>& awaited,
              std::uint32_t later, std::uint32_t before);

}  // namespace pipesim::models
