// Runs of a job that is folded to representative ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/graph/rank_set.hpp"
#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
#include "models/lowering/rank_folding.hpp"
#include "models/result/simulation.hpp"
#include "sim/engine.hpp"

namespace pipesim::models {

/// A run of the representative ranks, with an explanation for the whole job: its counts and
/// fingerprint cover all ranks. The explanation lists only the first rank of each class.
struct FoldedRun {
  Simulation simulation;
  RankFolding folding;
  std::vector<RankSet> alike;  // per entry of Explanation::ranks, the ranks with the same report
};

/// A folded job: the plan has only the representative ranks.
struct FoldedJob {
  RankFolding folding;
  Lowered lowered;
};

/// Lowers the representative ranks. Returns nullopt if fold_ranks() requires all ranks, if timing
/// matters, or if the graph has errors or warnings. Reports nothing: lowering all ranks reports the
/// errors.
std::optional<FoldedJob> fold_job(const TaskGraph& graph);

/// Lowers the representative ranks of `folding`, which can come from the same job in another NCCL
/// mode: all modes have the same steps. Returns nullopt if timing matters, or if the graph has
/// errors or warnings.
std::optional<FoldedJob> fold_job(const TaskGraph& graph, RankFolding folding);

/// A lowered job: all ranks, or only the representatives.
using LaidOutJob = std::variant<Lowered, FoldedJob>;

/// Returns the lowered ranks of `job`.
const Lowered& lowered_of(const LaidOutJob& job);

/// Lowers all ranks of a job if its representative ranks did not decide the result. Throws
/// UserError if the job is too large; no other error can occur, because the representative ranks
/// were lowered without errors.
Lowered lower_all(const TaskGraph& graph);

/// Lowers a job, folded if possible. Returns nullopt after errors, see lower().
std::optional<LaidOutJob> lay_out_job(const TaskGraph& graph, Diagnostics& diagnostics);

/// Runs a folded job of `graph`. Returns nullopt if all ranks must be run: after an interruption or
/// a mismatch, and if a rank with copies causes the hang or names another rank in its report. (Each
/// copy of a rank can name a different rank.) Uses only the `options` that stop a run or report its
/// progress.
std::optional<FoldedRun> run_folded(const TaskGraph& graph, FoldedJob job,
                                    const sim::RunOptions& options = {});

/// Runs `graph` folded. Returns nullopt if all ranks must be run.
std::optional<FoldedRun> run_folded(const TaskGraph& graph, const sim::RunOptions& options = {});

}  // namespace pipesim::models
