// Runs that hang, with their wait-for graphs and explanations. Their sizes are numbers of stuck
// ops.
#pragma once

#include <cstdint>
#include <vector>

#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
#include "models/result/explanation.hpp"
#include "sim/engine.hpp"
#include "sim/wait_graph.hpp"

namespace pipesim::bench {

/// A run that hangs, with its wait-for graph.
struct HungRun {
  models::TaskGraph graph;
  models::Lowered lowered;
  sim::Outcome outcome;
  sim::WaitGraph waits;
};

/// Returns a pipeline with 256 micro-batches that hangs at its start with about `stuck` stuck ops;
/// their number determines the number of stages. Most of the ops are queued in streams; few are on
/// the cycle.
HungRun hung_pipeline(std::uint32_t stuck);

/// Returns a ring of `stuck` actors on 8 ranks that all wait for one another in a single cycle.
HungRun hung_ring(std::uint32_t stuck);

/// Explains why the run hangs.
models::Explanation explained(const HungRun& run);

/// Returns all waits, as reports describe them.
std::vector<models::Wait> all_waits(const HungRun& run);

}  // namespace pipesim::bench
