// The verdict over all orders, and what shows it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/explain/folded_run.hpp"
#include "models/explain/simulation.hpp"
#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
#include "sim/engine.hpp"
#include "sim/interleavings/exploration.hpp"

namespace pipesim::models {

struct CheckReport {
  sim::Exploration exploration;
  Simulation usual;                // the run in the scenario's own times
  std::optional<Simulation> hang;  // that of the order that hangs; none: `usual` does, or nothing
  // If some ranks were checked for all (check_folded): which. Then `usual` has the plan of these,
  // and the explanation of all but for the ranks: of those only the first of each sort, as in
  // FoldedRun.
  std::optional<RankFolding> folding{};
  std::vector<RankSet> alike{};

  /// The run that hangs, if any was found.
  const Simulation* hanging() const;

  /// By rank, as how many it counts; empty if all were checked.
  std::vector<std::uint32_t> copies() const;
};

/// Whether the plan of `usual`, a run of `graph` in its own times, can hang in any order
/// (docs/explanation/check.md).
CheckReport check(const TaskGraph& graph, Simulation usual, const sim::ExploreOptions& options);

/// The same of `lowered`, made from `graph`, which is run first. `stop` of `options` ends that run
/// too.
CheckReport check(const TaskGraph& graph, Lowered lowered, const sim::ExploreOptions& options,
                  sim::RunProgress* progress = nullptr);

/// All interleavings of a job of which the ranks of `few` stand for all. Nothing unless timing
/// decides nothing: then all ranks end in all interleavings as these do. `usual`: as for
/// sim::explore().
std::optional<sim::Exploration> explore_folded(sim::Plan& few, sim::ExploreOptions options,
                                               const sim::Outcome* usual = nullptr);

/// Whether few ranks may show how a job hangs: in words, which name none that has copies.
enum class FoldHangs : bool { kNo, kYes };

/// The same of few ranks for all. Nothing unless these can be run so (see
/// run_folded()), and explored.
std::optional<CheckReport> check_folded(const TaskGraph& graph, FoldedJob job,
                                        const sim::ExploreOptions& options,
                                        sim::RunProgress* progress = nullptr,
                                        FoldHangs fold_hangs = FoldHangs::kNo);

/// The same of a few ranks where these decide it, or else of all. Throws as lower_all().
CheckReport check(const TaskGraph& graph, LaidOutJob job, const sim::ExploreOptions& options,
                  sim::RunProgress* progress = nullptr, FoldHangs fold_hangs = FoldHangs::kNo);

/// A step of an order: which event, and what it is for people ("rank 0: F0#1 ends").
struct OrderStep {
  sim::Event event;
  std::string what;
};

/// What the events of `order` do, one after the other. It ends before an event that cannot happen.
std::vector<OrderStep> describe_order(const TaskGraph& graph, const Lowered& lowered,
                                      const std::vector<sim::Event>& order);

/// What happens in `run`, which kept the times of its acts, by time: in its own times, faults
/// included, where describe_order() cannot follow. Empty if the plan has more than `limit` acts.
std::vector<std::string> describe_run(const TaskGraph& graph, const Simulation& run,
                                      std::size_t limit);

/// An interleaving of `plan`, which must not have faults: of pending events always the one that has
/// waited longest. Where timing decides nothing, it ends as any does. Empty if it would be longer
/// than `limit`.
std::vector<sim::Event> any_order(const sim::Plan& plan, std::size_t limit);

}  // namespace pipesim::models
