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
  Simulation usual;  // the run with the scenario's own durations
  // the hanging interleaving; none: `usual` hangs, or no hang was found
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

/// Runs `lowered`, made from `graph`, and checks its plan. `stop` of `options` ends the run as
/// well.
CheckReport check(const TaskGraph& graph, Lowered lowered, const sim::ExploreOptions& options,
                  sim::RunProgress* progress = nullptr);

/// Whether representative ranks can show a hang: in prose that names no folded rank.
enum class FoldHangs : bool { kNo, kYes };

/// Checks a folded job. Returns nullopt unless the representative ranks decide the run (see
/// run_folded()) and also the exploration.
std::optional<CheckReport> check_folded(const TaskGraph& graph, FoldedJob job,
                                        const sim::ExploreOptions& options,
                                        sim::RunProgress* progress = nullptr,
                                        FoldHangs fold_hangs = FoldHangs::kNo);

/// Checks a job with representative ranks if these decide the answer, else with all ranks. Throws
/// as lower_all() does.
CheckReport check(const TaskGraph& graph, LaidOutJob job, const sim::ExploreOptions& options,
                  sim::RunProgress* progress = nullptr, FoldHangs fold_hangs = FoldHangs::kNo);

}  // namespace pipesim::models
