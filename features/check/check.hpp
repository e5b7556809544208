// The verdict over all interleavings, with the run that shows a hang.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
#include "models/result/folded_run.hpp"
#include "models/result/simulation.hpp"
#include "sim/engine.hpp"
#include "sim/interleavings/exploration.hpp"

namespace pipesim::models {

struct CheckReport {
  sim::Exploration exploration;
  Simulation usual;  // run with the scenario's own durations
  // The hanging run, if a run other than `usual` hangs.
  std::optional<Simulation> hang;
  // The folding, if only representative ranks were checked (check_folded). `usual` then has the
  // plan of these ranks. The explanation of `usual` covers all ranks, but lists only the first rank
  // of each class, as in FoldedRun.
  std::optional<RankFolding> folding{};
  std::vector<RankSet> alike{};

  /// Returns the hanging run; null if none was found.
  const Simulation* hanging() const;

  /// Returns, for each rank, the number of ranks that the rank represents; empty if all ranks were
  /// checked.
  std::vector<std::uint32_t> copies() const;
};

/// Checks whether any interleaving of the plan of `usual` hangs (docs/explanation/check.md).
/// `usual` is a run of `graph` with its own durations.
CheckReport check(const TaskGraph& graph, Simulation usual, const sim::ExploreOptions& options);

/// Runs `lowered`, which was made from `graph`, and checks the plan. `options.stop` interrupts both
/// the run and the check.
CheckReport check(const TaskGraph& graph, Lowered lowered, const sim::ExploreOptions& options,
                  sim::RunProgress* progress = nullptr);

/// Whether check_folded() can return a hang. kYes is for reports that name no folded rank.
enum class FoldHangs : bool { kNo, kYes };

/// Checks a folded job. Returns nullopt if the representative ranks do not decide the run (see
/// run_folded()) or the exploration, or if they hang and `fold_hangs` is kNo.
std::optional<CheckReport> check_folded(const TaskGraph& graph, FoldedJob job,
                                        const sim::ExploreOptions& options,
                                        sim::RunProgress* progress = nullptr,
                                        FoldHangs fold_hangs = FoldHangs::kNo);

/// Checks a job with representative ranks if these ranks decide the answer, else with all ranks.
/// Throws the errors of lower_all().
CheckReport check(const TaskGraph& graph, LaidOutJob job, const sim::ExploreOptions& options,
                  sim::RunProgress* progress = nullptr, FoldHangs fold_hangs = FoldHangs::kNo);

}  // namespace pipesim::models
