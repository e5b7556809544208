// Interleavings in words, and the simplest interleaving of a plan.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
#include "models/result/simulation.hpp"
#include "sim/event.hpp"

namespace pipesim::models {

/// A step of an interleaving: its event, and the event in words ("rank 0: F0#1 ends").
struct OrderStep {
  sim::Event event;
  std::string what;
};

/// Describes the events of `order`, one after another. Stops before an event that cannot happen.
std::vector<OrderStep> describe_order(const TaskGraph& graph, const Lowered& lowered,
                                      const std::vector<sim::Event>& order);

/// Describes the events of `run` in the order of their times. Unlike describe_order(), supports
/// durations and faults. `run` must have kept the times of its ops. Returns an empty list if the
/// plan has more than `limit` ops.
std::vector<std::string> describe_run(const TaskGraph& graph, const Simulation& run,
                                      std::size_t limit);

/// Returns an interleaving of `plan` that always takes the oldest pending event. If timing decides
/// nothing, every interleaving ends in the same way. `plan` must not have faults. Returns an empty
/// list if the interleaving is longer than `limit`.
std::vector<sim::Event> any_order(const sim::Plan& plan, std::size_t limit);

}  // namespace pipesim::models
