// A job as `fix` runs it: with representative ranks if these decide the result, else with all
// ranks.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "models/graph/task_graph.hpp"
#include "models/result/explanation.hpp"
#include "models/result/folded_run.hpp"
#include "sim/engine.hpp"
#include "sim/interleavings/exploration.hpp"

namespace pipesim::models {

/// A run of the ranks in `job`. In a folded job, the explanation is as in FoldedRun.
struct JobRun {
  LaidOutJob job;
  sim::Outcome outcome;
  Explanation explanation;
};

/// Returns the number of ops of all ranks, folded ranks included.
std::uint64_t ops_of(const LaidOutJob& job);

/// Runs `job`, lowered from `graph`. Runs all ranks if the representative ranks do not show how all
/// ranks end; returns nullopt if the whole job is too large.
std::optional<JobRun> run_job(const TaskGraph& graph, LaidOutJob job,
                              const sim::RunOptions& options);

/// Explains `run`, made from `graph`. Returns false, and consumes the plan, if the representative
/// ranks do not show how all ranks end.
bool explain_run(const TaskGraph& graph, JobRun& run);

/// Explores a folded job with the plan `few`. Returns a result only if timing decides nothing: all
/// ranks then end like their representatives in every interleaving. `usual`: as for sim::explore().
std::optional<sim::Exploration> explore_folded(sim::Plan& few, sim::ExploreOptions options,
                                               const sim::Outcome* usual = nullptr);

/// Explores all interleavings of `job`, lowered from `graph`. If the representative ranks do not
/// decide, replaces `job` by all ranks; if the whole job is too large, the answer is undecided.
/// `usual`: the run of `job`, if the caller has it.
sim::Exploration explore_job(const TaskGraph& graph, LaidOutJob& job,
                             const sim::ExploreOptions& options,
                             const sim::Outcome* usual = nullptr);

/// Runs `job` in the hanging interleaving of `found`, a result of explore_job(). Returns nullopt if
/// the whole job is too large.
std::optional<JobRun> run_hang(const TaskGraph& graph, LaidOutJob job,
                               const sim::Exploration& found, const std::atomic<bool>* stop);

/// The calls of one kind on all ranks.
struct Work {
  std::uint64_t calls = 0;
  double bytes = 0;  // sums over many ranks and iterations can exceed an integer
};

/// Operation and members of collectives; communicators of the same ranks share a key. Sends and
/// recvs (operations below 0) have no members.
using WorkKey = std::pair<int, std::vector<std::uint32_t>>;
using WorkTable = std::map<WorkKey, Work>;

/// Returns the work of `job`, lowered from `graph`. Counts each call of a group, so that grouping
/// the same calls differently is the same work.
WorkTable work_of(const TaskGraph& graph, const LaidOutJob& job);

/// Whether `after` makes fewer calls of some kind, or moves fewer bytes.
bool leaves_out(const WorkTable& before, const WorkTable& after);

}  // namespace pipesim::models
