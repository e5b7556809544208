// From a task graph to an explained end in one call.
#pragma once

#include <optional>

#include "models/explain/explanation.hpp"
#include "models/graph/diagnostics.hpp"
#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
#include "sim/engine.hpp"
#include "sim/wait_graph.hpp"

namespace pipesim::models {

/// A run with all that reports need. The task graph that it was made from is not in it.
struct Simulation {
  Lowered lowered;
  sim::Outcome outcome;
  sim::WaitGraph waits;  // empty unless the run came to rest with work left
  Explanation explanation;
  sim::Jitter jitter;  // what the run was made with
};

/// Explains the end of a run of `lowered`, made from `graph`, to those who need no wait-for graph.
Explanation explain(const TaskGraph& graph, const Lowered& lowered, const sim::Outcome& outcome);

/// Runs and explains `lowered`, made from `graph`. `copies`: as for explain_waits().
Simulation simulate(const TaskGraph& graph, Lowered lowered, const sim::RunOptions& options,
                    const std::vector<std::uint32_t>* copies = nullptr);

/// Lowers, runs and explains. Nothing where `graph` has mistakes, which `diagnostics` then has.
std::optional<Simulation> simulate(const TaskGraph& graph, Diagnostics& diagnostics,
                                   const sim::RunOptions& options = {});

}  // namespace pipesim::models
