#include "models/result/job_run.hpp"

#include <algorithm>
#include <tuple>

#include "models/result/simulation.hpp"

namespace pipesim::models {
namespace {

// Lowers all ranks into `job`. Returns false if the job is too large; no other error can occur,
// because the representative ranks lowered without errors.
bool lay_out_all(const TaskGraph& graph, LaidOutJob& job) {
  if (std::holds_alternative<Lowered>(job)) return true;
  Diagnostics unheard;
  std::optional<Lowered> all = lower(graph, unheard);
  if (all) job = std::move(*all);
  return all.has_value();
}

std::optional<JobRun> run_all(const TaskGraph& graph, LaidOutJob job,
                              const sim::RunOptions& options) {
  if (!lay_out_all(graph, job)) return std::nullopt;
  Simulation run = simulate(graph, std::get<Lowered>(std::move(job)), options);
  return JobRun{std::move(run.lowered), std::move(run.outcome), std::move(run.explanation)};
}

std::optional<JobRun> run_few(const TaskGraph& graph, FoldedJob job,
                              const sim::RunOptions& options) {
  std::optional<FoldedRun> run = run_folded(graph, std::move(job), options);
  if (!run) return std::nullopt;
  Simulation& simulation = run->simulation;
  return JobRun{FoldedJob{std::move(run->folding), std::move(simulation.lowered)},
                std::move(simulation.outcome), std::move(simulation.explanation)};
}

// Sums of the calls of actors.
class WorkSum {
 public:
  explicit WorkSum(const TaskGraph& graph) : graph_(graph) {}

  void add(const ActorTemplate& actor, std::uint32_t rank, std::uint64_t ops) {
    if (actor.collective) {
      const CollectiveTemplate& of = *actor.collective;
      add(static_cast<int>(of.operation), of.group, rank, ops, of.bytes);
    }
    // Turns of a thread that drives several ranks are not work.
    if (!actor.step || actor.step->implied) return;
    for (const CallTemplate& call : actor.step->calls) {
      const bool collective = call.kind == sim::CallKind::kCollective;
      const bool known = call.communicator < graph_.communicators.size();
      add(collective ? static_cast<int>(call.operation) : -static_cast<int>(call.kind),
          known ? graph_.communicators[call.communicator].group : kNoIndex, rank, ops,
          call.bytes.value(rank).value_or(0));
    }
  }

  WorkTable table() const {
    WorkTable result;
    for (const auto& [key, work] : sums_) {
      const auto [operation, group, list] = key;
      std::vector<std::uint32_t> members;
      if (list != kNoIndex) members = graph_.groups[group].lists[list];
      Work& sum = result[{operation, std::move(members)}];
      sum.calls += work.calls;
      sum.bytes += work.bytes;
    }
    return result;
  }

 private:
  void add(int operation, std::uint32_t group, std::uint32_t rank, std::uint64_t ops,
           std::int64_t bytes) {
    const bool has_members = operation >= 0 && group != kNoIndex;
    const std::uint32_t list = has_members ? graph_.groups[group].list_of(rank) : kNoIndex;
    Work& work = sums_[{operation, list == kNoIndex ? kNoIndex : group, list}];
    work.calls += ops;
    work.bytes += static_cast<double>(ops) * static_cast<double>(bytes);
  }

  const TaskGraph& graph_;
  // Work by operation, group and list of the group; kNoIndex: no group or list.
  std::map<std::tuple<int, std::uint32_t, std::uint32_t>, Work> sums_;
};

}  // namespace

std::uint64_t ops_of(const LaidOutJob& job) {
  const sim::Plan& plan = lowered_of(job).plan;
  const auto* few = std::get_if<FoldedJob>(&job);
  if (few == nullptr) return plan.op_count;
  const std::vector<std::uint32_t> copies = few->folding.copies();
  std::uint64_t ops = 0;
  for (const sim::Actor& actor : plan.actors) {
    ops += std::uint64_t{actor.ops} * copies[actor.rank.value];
  }
  return ops;
}

std::optional<JobRun> run_job(const TaskGraph& graph, LaidOutJob job,
                              const sim::RunOptions& options) {
  if (auto* few = std::get_if<FoldedJob>(&job)) {
    if (auto run = run_few(graph, std::move(*few), options)) return run;
  }
  return run_all(graph, std::move(job), options);
}

bool explain_run(const TaskGraph& graph, JobRun& run) {
  if (auto* few = std::get_if<FoldedJob>(&run.job)) {
    auto again = run_few(graph, std::move(*few), {});
    if (again) run = std::move(*again);
    return again.has_value();
  }
  run.explanation = explain(graph, std::get<Lowered>(run.job), run.outcome);
  return true;
}

std::optional<sim::Exploration> explore_folded(sim::Plan& few, sim::ExploreOptions options,
                                               const sim::Outcome* usual) {
  // Representative ranks are enough if one run decides, but not for a search.
  options.max_steps = 0;
  sim::Exploration found = sim::explore_in_place(few, options, usual);
  // Shared hardware queues are reported with the streams of all ranks.
  const bool queues = found.rests_on.queue_runs > 0 || (found.hang_found && found.rests_on.queues);
  if (found.method != sim::Method::kOneRun || queues) return std::nullopt;
  const bool decided =
      found.answer != sim::Answer::kHangPossible && found.answer != sim::Answer::kUndecided;
  return decided ? std::optional(std::move(found)) : std::nullopt;
}

sim::Exploration explore_job(const TaskGraph& graph, LaidOutJob& job,
                             const sim::ExploreOptions& options, const sim::Outcome* usual) {
  if (auto* few = std::get_if<FoldedJob>(&job)) {
    if (auto found = explore_folded(few->lowered.plan, options, usual)) return std::move(*found);
    if (!lay_out_all(graph, job)) return {};
    usual = nullptr;
  }
  return sim::explore_in_place(std::get<Lowered>(job).plan, options, usual);
}

std::optional<JobRun> run_hang(const TaskGraph& graph, LaidOutJob job,
                               const sim::Exploration& found, const std::atomic<bool>* stop) {
  sim::RunOptions options;
  options.stop = stop;
  const bool is_usual = found.hang.empty() && !found.reading.any();
  if (is_usual) return run_job(graph, std::move(job), options);
  if (found.reading.any()) options.reading = &found.reading;
  if (!found.hang.empty()) options.order = &found.hang;
  return run_all(graph, std::move(job), options);
}

WorkTable work_of(const TaskGraph& graph, const LaidOutJob& job) {
  const Lowered& lowered = lowered_of(job);
  WorkSum sum(graph);
  const auto add = [&](sim::ActorId id, std::uint32_t rank) {
    const std::uint32_t index = lowered.actor_template[id];
    if (index >= graph.actors.size()) return;
    sum.add(graph.actors[index], rank, lowered.plan.actors[id].ops);
  };
  if (const auto* few = std::get_if<FoldedJob>(&job)) {
    // A folded rank has the same actors as its representative.
    std::vector<std::vector<sim::ActorId>> actors(lowered.plan.rank_count);
    for (const sim::ActorId id : sim::ids_of(lowered.plan.actors)) {
      actors[lowered.plan.actors[id].rank.value].push_back(id);
    }
    for (std::uint32_t rank = 0; rank < lowered.plan.rank_count; ++rank) {
      for (const sim::ActorId id : actors[few->folding.stands_for[rank]]) add(id, rank);
    }
  } else {
    for (const sim::ActorId id : sim::ids_of(lowered.plan.actors)) {
      add(id, lowered.plan.actors[id].rank.value);
    }
  }
  return sum.table();
}

bool leaves_out(const WorkTable& before, const WorkTable& after) {
  constexpr double kRounding = 1e-9;
  return std::any_of(before.begin(), before.end(), [&](const auto& entry) {
    const auto found = after.find(entry.first);
    const Work now = found == after.end() ? Work() : found->second;
    return now.calls < entry.second.calls || now.bytes < entry.second.bytes * (1.0 - kRounding);
  });
}

}  // namespace pipesim::models
