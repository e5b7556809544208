#include "models/result/simulation.hpp"

#include <utility>

namespace pipesim::models {
namespace {

sim::WaitGraph waits_at_end(const sim::Plan& plan, const sim::Outcome& outcome) {
  if (outcome.end != sim::RunEnd::kStuck) return {};
  return sim::wait_graph(plan, outcome.state);
}

}  // namespace

Explanation explain(const TaskGraph& graph, const Lowered& lowered, const sim::Outcome& outcome) {
  return explain(graph, lowered, outcome, waits_at_end(lowered.plan, outcome));
}

Simulation simulate(const TaskGraph& graph, Lowered lowered, const sim::RunOptions& options,
                    const std::vector<std::uint32_t>* copies) {
  Simulation result;
  result.lowered = std::move(lowered);
  if (options.reading != nullptr) {
    result.lowered.plan = sim::with_reading(std::move(result.lowered.plan), *options.reading);
  }
  result.jitter = options.jitter;
  result.outcome = sim::run(result.lowered.plan, options);
  result.waits = waits_at_end(result.lowered.plan, result.outcome);
  result.explanation = explain(graph, result.lowered, result.outcome, result.waits, copies);
  return result;
}

std::optional<Simulation> simulate(const TaskGraph& graph, Diagnostics& diagnostics,
                                   const sim::RunOptions& options) {
  std::optional<Lowered> lowered = lower(graph, diagnostics);
  if (!lowered) return std::nullopt;
  return simulate(graph, std::move(*lowered), options);
}

}  // namespace pipesim::models
