#include "models/result/folded_run.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "models/codes.hpp"
#include "models/lowering/rank_classes.hpp"
#include "models/result/wait_cycle.hpp"
#include "sim/fixed_order.hpp"

namespace pipesim::models {
namespace {

using sim::ActorId;

// Whether the report of a rank's progress names another rank.
bool names_others(const RankReport& rank) {
  return std::any_of(rank.progress.begin(), rank.progress.end(), [&](const Progress& progress) {
    if (!progress.tells_wait()) return false;
    const Wait& wait = *progress.wait;
    return wait.to.kind != sim::WaitNodeKind::kOp || wait.to.rank != rank.rank ||
           (wait.needed && wait.needed->rank != rank.rank);
  });
}

// Whether the explanation of the whole job follows from `run`. `copies`: for each rank, the number
// of ranks that the rank represents.
bool is_possible(const Simulation& run, const std::vector<std::uint32_t>& copies) {
  const Explanation& explanation = run.explanation;
  if (!explanation.mismatches.empty()) return false;
  for (const Root& root : explanation.roots) {
    if (root.party.kind != sim::WaitNodeKind::kRank || copies[root.party.rank] != 1) return false;
  }
  const std::vector<bool> circular = in_cycles(run.waits);
  for (std::size_t i = 0; i < run.waits.nodes.size(); ++i) {
    if (circular[i] && copies[run.waits.nodes[i].rank.value] != 1) return false;
  }
  return std::none_of(
      explanation.ranks.begin(), explanation.ranks.end(),
      [&](const RankReport& rank) { return copies[rank.rank] > 1 && names_others(rank); });
}

// Returns the fingerprint of a run of all ranks: each rank has the digest of its representative.
std::uint64_t fingerprint_of(const Simulation& few, const RankFolding& folding) {
  sim::RankDigests digests(folding.stands_for.size());
  for (const sim::RankId rank : ids_of(digests)) {
    digests[rank] = few.outcome.digests[sim::RankId{folding.stands_for[rank.value]}];
  }
  return sim::Fingerprint::of(digests, few.explanation.verdict);
}

void count_ops(Simulation& run, const std::vector<std::uint32_t>& copies) {
  Explanation& explanation = run.explanation;
  explanation.ops_done = 0;
  explanation.ops_expected = 0;
  for (const ActorId id : ids_of(run.lowered.plan.actors)) {
    const sim::Actor& actor = run.lowered.plan.actors[id];
    const std::uint64_t count = copies[actor.rank.value];
    explanation.ops_done += run.outcome.state.actors[id].done * count;
    explanation.ops_expected += actor.ops * count;
  }
}

}  // namespace

std::optional<FoldedJob> fold_job(const TaskGraph& graph) {
  std::optional<RankFolding> folding = fold_ranks(graph);
  if (!folding) return std::nullopt;
  return fold_job(graph, std::move(*folding));
}

std::optional<FoldedJob> fold_job(const TaskGraph& graph, RankFolding folding) {
  Diagnostics mistakes;
  std::optional<Lowered> lowered = lower_some(graph, folding.kept, mistakes);
  if (!lowered || !mistakes.sorted().empty()) return std::nullopt;
  if (sim::fixed_order_obstacle(lowered->plan, {}) != nullptr) return std::nullopt;
  return FoldedJob{std::move(folding), std::move(*lowered)};
}

const Lowered& lowered_of(const LaidOutJob& job) {
  const auto* few = std::get_if<FoldedJob>(&job);
  return few != nullptr ? few->lowered : std::get<Lowered>(job);
}

Lowered lower_all(const TaskGraph& graph) {
  Diagnostics mistakes;
  std::optional<Lowered> all = lower(graph, mistakes);
  if (all) return std::move(*all);
  throw UserError(
      Code::kLimit,
      "this job cannot be simulated with representative ranks, and all ranks have more than " +
          std::to_string(kMaxPlacedActors) + " actors and steps",
      "simulate fewer ranks");
}

std::optional<LaidOutJob> lay_out_job(const TaskGraph& graph, Diagnostics& diagnostics) {
  if (std::optional<FoldedJob> job = fold_job(graph)) return std::move(*job);
  if (std::optional<Lowered> job = lower(graph, diagnostics)) return std::move(*job);
  return std::nullopt;
}

std::optional<FoldedRun> run_folded(const TaskGraph& graph, FoldedJob job,
                                    const sim::RunOptions& options) {
  sim::RunOptions run;
  run.keep_op_times = true;
  run.stop = options.stop;
  run.progress = options.progress;
  const std::vector<std::uint32_t> copies = job.folding.copies();
  FoldedRun result;
  result.folding = std::move(job.folding);
  result.simulation = simulate(graph, std::move(job.lowered), run, &copies);
  const sim::RunEnd end = result.simulation.outcome.end;
  if (end != sim::RunEnd::kCompleted && end != sim::RunEnd::kStuck) return std::nullopt;
  if (!is_possible(result.simulation, copies)) return std::nullopt;
  count_ops(result.simulation, copies);
  result.simulation.explanation.fingerprint = fingerprint_of(result.simulation, result.folding);
  result.alike = ranks_by_key(RankSet::range(0, graph.ranks),
                              [&](std::uint32_t rank) { return result.folding.stands_for[rank]; });
  return result;
}

std::optional<FoldedRun> run_folded(const TaskGraph& graph, const sim::RunOptions& options) {
  std::optional<FoldedJob> job = fold_job(graph);
  if (!job) return std::nullopt;
  return run_folded(graph, std::move(*job), options);
}

}  // namespace pipesim::models
