// Host programs as one rank runs them.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "models/graph/task_graph.hpp"

namespace pipesim::models {

/// A step in the program of a rank, and the block that repeats it.
struct WalkedStep {
  std::uint32_t actor = kNoIndex;
  const ProgramStep* block = nullptr;  // innermost repeating block; null: none
};

/// Returns the steps of `rank` on `thread` in order, each block once, including the steps implied
/// by `after`.
std::vector<WalkedStep> walk_program(const HostThread& thread, const TaskGraph& graph,
                                     std::uint32_t rank);

/// Returns, by actor of `graph`, the streams that the actor waits for through `after` or `behind`.
std::vector<std::set<std::uint32_t>> awaited_streams(const TaskGraph& graph);

/// Whether the step `later` can need a result of the earlier step `before` on the same rank. If so,
/// swapping them can change the results of the job. Calls count as independent of each other unless
/// the scenario says otherwise.
bool may_need(const TaskGraph& graph, const std::vector<std::set<std::uint32_t>>& awaited,
              std::uint32_t later, std::uint32_t before);

}  // namespace pipesim::models
