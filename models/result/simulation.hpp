// Simulation of a task graph: lowers, runs and explains in one call.
#pragma once

#include <optional>

#include "models/graph/diagnostics.hpp"
#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
#include "models/result/explanation.hpp"
#include "sim/engine.hpp"
#include "sim/wait_graph.hpp"

namespace pipesim::models {

/// A run with all data for reports, except its task graph.
struct Simulation {
  Lowered lowered;
  sim::Outcome outcome;
  sim::WaitGraph waits;  // empty unless the run is quiescent with work left
  Explanation explanation;
  sim::Jitter jitter;  // the variation of durations in this run
};

/// Explains the end of a run of `lowered`, made from `graph`, for callers that need no wait-for
/// graph.
Explanation explain(const TaskGraph& graph, const Lowered& lowered, const sim::Outcome& outcome);

/// Runs and explains `lowered`, made from `graph`. `copies`: as for explain_waits().
Simulation simulate(const TaskGraph& graph, Lowered lowered, const sim::RunOptions& options,
                    const std::vector<std::uint32_t>* copies = nullptr);

/// Lowers, runs and explains `graph`. If `graph` has errors, reports them and returns nullopt.
std::optional<Simulation> simulate(const TaskGraph& graph, Diagnostics& diagnostics,
                                   const sim::RunOptions& options = {});

}  // namespace pipesim::models
