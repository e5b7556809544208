#include "models/explain/folded_run.hpp"

#include <algorithm>
#include <utility>

#include "models/explain/wait_cycle.hpp"
#include "models/lowering/rank_classes.hpp"
#include "sim/fixed_order.hpp"

namespace pipesim::models {
namespace {

using sim::ActorId;

class Unfolding {
 public:
  explicit Unfolding(FoldedRun& run)
      : run_(run),
        plan_(run.simulation.lowered.plan),
        first_kept_(plan_.rank_count),
        copies_(plan_.rank_count) {
    number_actors();
  }

  /// Whether the report of the whole job follows from this one.
  bool is_possible(const std::vector<std::uint32_t>& copies) const;

  /// Makes the explanation that of the whole job.
  void run(bool with_fingerprint);

 private:
  void number_actors();
  void count_ops();
  std::uint64_t fingerprint() const;
  void keep_first_ranks();
  bool names_others(const RankReport& rank) const;

  FoldedRun& run_;
  const sim::Plan& plan_;
  // By rank: its first actor; and the first actors of its copies in a plan of all ranks, in which
  // actors are numbered rank by rank.
  std::vector<std::uint32_t> first_kept_;
  std::vector<std::vector<std::uint32_t>> copies_;
};

void Unfolding::number_actors() {
  std::vector<std::uint32_t> actors(plan_.rank_count, 0);
  for (const ActorId id : ids_of(plan_.actors)) {
    const std::uint32_t rank = plan_.actors[id].rank.value;
    if (actors[rank]++ == 0) first_kept_[rank] = id.value;
  }
  std::uint32_t next = 0;
  for (const std::uint32_t first : run_.folding.stands_for) {
    copies_[first].push_back(next);
    next += actors[first];
  }
}

// Whether a report tells with the name of another where the rank stands.
bool Unfolding::names_others(const RankReport& rank) const {
  return std::any_of(rank.progress.begin(), rank.progress.end(), [&](const Progress& progress) {
    if (!progress.tells_wait()) return false;
    const Wait& wait = *progress.wait;
    return wait.to.kind != sim::WaitNodeKind::kAct || wait.to.rank != rank.rank ||
           (wait.needed && wait.needed->rank != rank.rank);
  });
}

bool Unfolding::is_possible(const std::vector<std::uint32_t>& copies) const {
  const Explanation& explanation = run_.simulation.explanation;
  const sim::WaitGraph& waits = run_.simulation.waits;
  if (!explanation.mismatches.empty()) return false;
  for (const Root& root : explanation.roots) {
    if (root.party.kind != sim::WaitNodeKind::kRank || copies[root.party.rank] != 1) return false;
  }
  const std::vector<bool> circular = in_circles(waits);
  for (std::size_t i = 0; i < waits.nodes.size(); ++i) {
    if (circular[i] && copies[waits.nodes[i].rank.value] != 1) return false;
  }
  return std::none_of(
      explanation.ranks.begin(), explanation.ranks.end(),
      [&](const RankReport& rank) { return copies[rank.rank] > 1 && names_others(rank); });
}

void Unfolding::run(bool with_fingerprint) {
  count_ops();
  run_.simulation.explanation.fingerprint = with_fingerprint ? fingerprint() : 0;
  keep_first_ranks();
}

void Unfolding::count_ops() {
  const sim::Outcome& outcome = run_.simulation.outcome;
  std::uint64_t done = 0;
  std::uint64_t expected = 0;
  for (const ActorId id : ids_of(plan_.actors)) {
    const sim::Actor& actor = plan_.actors[id];
    const std::size_t copies = copies_[actor.rank.value].size();
    done += outcome.state.actors[id].done * copies;
    expected += actor.acts * copies;
  }
  Explanation& explanation = run_.simulation.explanation;
  explanation.acts_done = done;
  explanation.acts_expected = expected;
}

std::uint64_t Unfolding::fingerprint() const {
  const sim::Outcome& outcome = run_.simulation.outcome;
  sim::Fingerprint fingerprint;
  for (const ActorId id : ids_of(plan_.actors)) {
    const std::uint32_t rank = plan_.actors[id].rank.value;
    const std::uint32_t own = id.value - first_kept_[rank];
    for (std::uint32_t k = 0; k < outcome.state.actors[id].launched; ++k) {
      const sim::ActTimes& times = outcome.act_times.of(id, k);
      for (const std::uint32_t first : copies_[rank]) {
        fingerprint.add(ActorId{first + own}, k, times.launch, times.start, times.end);
      }
    }
  }
  return fingerprint.value(run_.simulation.explanation.verdict);
}

void Unfolding::keep_first_ranks() {
  const std::vector<std::uint32_t>& stands_for = run_.folding.stands_for;
  std::erase_if(run_.simulation.explanation.ranks,
                [&](const RankReport& rank) { return stands_for[rank.rank] != rank.rank; });
  run_.alike = ranks_by_key(RankSet::range(0, plan_.rank_count),
                            [&](std::uint32_t rank) { return stands_for[rank]; });
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

std::optional<LaidOutJob> lay_out_job(const TaskGraph& graph, Diagnostics& diagnostics) {
  if (std::optional<FoldedJob> job = fold_job(graph)) return std::move(*job);
  if (std::optional<Lowered> job = lower(graph, diagnostics)) return std::move(*job);
  return std::nullopt;
}

std::optional<FoldedRun> run_folded(const TaskGraph& graph, FoldedJob job,
                                    const sim::RunOptions& options, bool with_fingerprint) {
  sim::RunOptions run;
  run.keep_act_times = true;
  run.stop = options.stop;
  run.progress = options.progress;
  const std::vector<std::uint32_t> copies = job.folding.copies();
  FoldedRun result;
  result.folding = std::move(job.folding);
  result.simulation = simulate(graph, std::move(job.lowered), run, &copies);
  const sim::RunEnd end = result.simulation.outcome.end;
  if (end != sim::RunEnd::kCompleted && end != sim::RunEnd::kStuck) return std::nullopt;
  Unfolding unfolding(result);
  if (!unfolding.is_possible(copies)) return std::nullopt;
  unfolding.run(with_fingerprint);
  return result;
}

std::optional<FoldedRun> run_folded(const TaskGraph& graph, const sim::RunOptions& options) {
  std::optional<FoldedJob> job = fold_job(graph);
  if (!job) return std::nullopt;
  return run_folded(graph, std::move(*job), options);
}

}  // namespace pipesim::models
