// A run of a job in which a few ranks stand for the others.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "models/explain/simulation.hpp"
#include "models/graph/diagnostics.hpp"
#include "models/graph/rank_set.hpp"
#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
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

/// A job of which a few ranks are laid out.
struct FoldedJob {
  RankFolding folding;
  Lowered lowered;
};

/// Lays out the ranks that stand for all. Nothing where the whole has to be laid out: see
/// fold_ranks(), where timing decides something, and where there are mistakes, which are told of
/// all ranks.
std::optional<FoldedJob> fold_job(const TaskGraph& graph);

/// The same with the ranks that another reading of `graph` was folded to: readings have the same
/// steps.
std::optional<FoldedJob> fold_job(const TaskGraph& graph, RankFolding folding);

/// A job laid out: all of its ranks, or a few that stand for them.
using LaidOutJob = std::variant<Lowered, FoldedJob>;

/// Of those ranks.
const Lowered& lowered_of(const LaidOutJob& job);

/// All ranks of a job of which a few were laid out, and do not say enough. Throws UserError where
/// they are too many, the one mistake that all can have and a few not.
Lowered lower_all(const TaskGraph& graph);

/// Of a few ranks, where that is possible. Nothing where there are mistakes: see lower().
std::optional<LaidOutJob> lay_out_job(const TaskGraph& graph, Diagnostics& diagnostics);

/// Runs a job of `graph` folded. Nothing where the whole has to be run: where the run is
/// interrupted, or hangs in a way of which a rank with copies is the cause, or names others, since
/// which of the copies a report names is decided by their numbers. Of `options` only those that
/// stop a run and tell how far it is are used.
std::optional<FoldedRun> run_folded(const TaskGraph& graph, FoldedJob job,
                                    const sim::RunOptions& options = {});

/// The same of `graph`, if it can be folded.
std::optional<FoldedRun> run_folded(const TaskGraph& graph, const sim::RunOptions& options = {});

}  // namespace pipesim::models
