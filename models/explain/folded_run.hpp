// A run of a job in which a few ranks stand for the others.
#pragma once

#include <optional>
#include <vector>

#include "models/explain/simulation.hpp"
#include "models/graph/rank_set.hpp"
#include "models/graph/task_graph.hpp"
#include "models/lowering/rank_folding.hpp"
#include "sim/engine.hpp"

namespace pipesim::models {

/// A run of the kept ranks, of which the explanation is that of the whole job: with its counts and
/// its fingerprint. Of its ranks it has the first of each sort only.
struct FoldedRun {
  Simulation simulation;
  RankFolding folding;
  std::vector<RankSet> alike;  // beside Explanation::ranks: those that would say the same
};

/// Runs `graph` folded, if it can be. Nothing where the whole has to be run: see fold_ranks(), and
/// where the run is interrupted, or hangs in a way of which a rank with copies is the cause, or
/// names others: which of the copies a report names is decided by their numbers. Of `options` only
/// those that stop a run and tell how far it is are used.
std::optional<FoldedRun> run_folded(const TaskGraph& graph, const sim::RunOptions& options = {});

/// Whether it would be run folded, as far as can be said before. Then it has no mistakes.
bool can_fold(const TaskGraph& graph);

}  // namespace pipesim::models
