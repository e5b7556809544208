// A job as `fix` runs it: with a few of its ranks for all where these tell what all do, and with
// all where they do not.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "models/explain/explanation.hpp"
#include "models/explain/folded_run.hpp"
#include "models/graph/task_graph.hpp"
#include "sim/engine.hpp"
#include "sim/interleavings/exploration.hpp"

namespace pipesim::models {

/// A run of the ranks that `job` has. If these are a few, the explanation is as in FoldedRun.
struct JobRun {
  LaidOutJob job;
  sim::Outcome outcome;
  Explanation explanation;
};

/// Of all ranks.
std::uint64_t acts_of(const LaidOutJob& job);

/// Runs `job`, laid out from `graph`; all of its ranks where a few do not say how all end. Nothing
/// where these are too many to be laid out.
std::optional<JobRun> run_job(const TaskGraph& graph, LaidOutJob job,
                              const sim::RunOptions& options);

/// Explains `run`, made from `graph`. False where a few ranks do not say how all end: then the plan
/// is gone.
bool explain_run(const TaskGraph& graph, JobRun& run);

/// All interleavings of `job`, laid out from `graph`. Where a few ranks do not decide, all are laid
/// out in their place, and if they are too many, nothing is known. `usual` is the run of the ranks
/// of `job`, if the caller has it.
sim::Exploration explore_job(const TaskGraph& graph, LaidOutJob& job,
                             const sim::ExploreOptions& options,
                             const sim::Outcome* usual = nullptr);

/// The run of `job` in the interleaving that `found` says hangs: of one that explore_job() looked
/// at. Nothing as for run_job().
std::optional<JobRun> run_hang(const TaskGraph& graph, LaidOutJob job,
                               const sim::Exploration& found, const std::atomic<bool>* stop);

/// Calls of one kind, of all ranks together.
struct Work {
  std::uint64_t calls = 0;
  double bytes = 0;  // sums of many ranks and rounds are larger than an integer
};

/// Collectives by operation and members: which communicator of the same ranks they use does not
/// matter. Sends and recvs (operations below 0) by kind.
using WorkKey = std::pair<int, std::vector<std::uint32_t>>;
using WorkTable = std::map<WorkKey, Work>;

/// Of `job`, laid out from `graph`. Calls of a group count one by one, so that other groups of the
/// same calls are the same work.
WorkTable work_of(const TaskGraph& graph, const LaidOutJob& job);

/// Whether of some calls there are fewer, or they move less.
bool leaves_out(const WorkTable& before, const WorkTable& after);

}  // namespace pipesim::models
