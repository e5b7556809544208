#include "features/fix/fix.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "models/result/hang_signature.hpp"
#include "models/result/job_run.hpp"
#include "models/result/memory.hpp"

#include "features/check/nccl_modes.hpp"
#include "features/fix/candidates.hpp"

namespace pipesim::models {
namespace {

using sim::Answer;

constexpr int kMaxSureNumbers = 4;  // maximum number of doublings in larger()

constexpr std::size_t kMaxHalves = 24;

using Edits = std::vector<Edit>;

/// One run of the edited scenario.
struct Trial {
  TaskGraph graph;
  JobRun run;  // has an explanation only after explain_run()
  bool completes = false;
  std::int64_t time_ns = 0;
  std::optional<std::int64_t> memory;
};

/// An edit after which the job still hangs, but differently, so that a second edit may help.
struct Half {
  Edit edit;
  // The explained run with the edit; nullopt if the representative ranks do not show how all ranks
  // end.
  std::optional<Trial> trial;
};

/// The ranks of a job to lower: representative ranks if the job can be folded, or all ranks.
enum class Ranks : std::uint8_t { kMin, kAll };

/// A fix and the edited scenario.
struct Found {
  Fix fix;
  TaskGraph graph;  // graph of the edited scenario, without source positions
};

std::optional<std::int64_t> most_memory(const TaskGraph& graph, const Lowered& lowered,
                                        const sim::Outcome& outcome) {
  const std::optional<MemoryReport> report = memory_report(graph, lowered, outcome);
  if (!report) return std::nullopt;
  std::int64_t most = 0;
  for (const RankMemory& rank : *report) most = std::max(most, rank.peak);
  return most;
}

bool can_hang(const sim::Exploration& orders) {
  return orders.answer == Answer::kHangPossible || orders.answer == Answer::kHangCertain;
}

// Finds the actor of an op by name and rank, because steps of different ranks can share a name.
const ActorTemplate* actor_of(const TaskGraph& graph, const OpInfo& op) {
  for (const ActorTemplate& actor : graph.actors) {
    if (actor.name == op.name && actor.on.contains(op.rank)) return &actor;
  }
  return nullptr;
}

std::string stream_of(const TaskGraph& graph, const ActorTemplate& actor) {
  return actor.stream == kNoIndex ? std::string() : graph.streams[actor.stream].name;
}

// Returns the names of the actors that `actor` reads.
std::vector<std::string> sources_of(const TaskGraph& graph, const ActorTemplate& actor) {
  std::vector<std::string> names;
  for (const ReadTemplate& read : actor.reads) names.push_back(graph.actors[read.actor].name);
  return names;
}

// Compares the graphs before and after an edit to find the waits that the edit removes.
class Differences {
 public:
  Differences(const TaskGraph& before, const TaskGraph& after) : before_(before), after_(after) {}

  // Whether the graphs differ in the setting that causes `wait`.
  bool remove(const Wait& wait) const {
    switch (sim::facts(wait.kind).setting) {
      case sim::Setting::kNone:
        break;
      case sim::Setting::kStreams:
        return moves(wait.from.op) || moves(wait.to.op);
      case sim::Setting::kSlots:
        return slots_differ(wait);
      case sim::Setting::kInit:
        return before_.init != after_.init;
      case sim::Setting::kDevice:
        return before_.device != after_.device;
      case sim::Setting::kLaunchQueue:
        return before_.launch_queue != after_.launch_queue ||
               before_.device.launch_queue != after_.device.launch_queue;
      case sim::Setting::kBuffering:
        return buffering_differs(wait.from.op);
    }
    return false;
  }

  // Whether the waiting op of `wait` is gone or, if `wait` is for data, no longer reads the op that
  // it waited for.
  bool take_out(const Wait& wait) const {
    const ActorTemplate* old = actor_of(before_, wait.from.op);
    if (old == nullptr) return false;
    const ActorTemplate* now = actor_of(after_, wait.from.op);
    if (now == nullptr) return true;
    if (wait.kind != sim::WaitKind::kData) return false;
    const std::vector<std::string> sources = sources_of(after_, *now);
    return std::find(sources.begin(), sources.end(), wait.to.op.name) == sources.end();
  }

 private:
  bool moves(const OpInfo& op) const {
    const ActorTemplate* old = actor_of(before_, op);
    const ActorTemplate* now = actor_of(after_, op);
    return old != nullptr && now != nullptr && stream_of(before_, *old) != stream_of(after_, *now);
  }

  bool slots_differ(const Wait& wait) const {
    const ActorTemplate* old = actor_of(before_, wait.from.op);
    const ActorTemplate* now = actor_of(after_, wait.from.op);
    if (old == nullptr || now == nullptr) return false;
    for (const RegisterTemplate& a : old->registers) {
      for (const RegisterTemplate& b : now->registers) {
        if (a.name == wait.reg && b.name == wait.reg && a.slots != b.slots) return true;
      }
    }
    return false;
  }

  // Whether the buffer size differs for any communicator that `op` calls.
  bool buffering_differs(const OpInfo& op) const {
    const ActorTemplate* old = actor_of(before_, op);
    const std::size_t count = std::min(before_.communicators.size(), after_.communicators.size());
    if (old == nullptr || !old->step) return false;
    return std::any_of(
        old->step->calls.begin(), old->step->calls.end(), [&](const CallTemplate& call) {
          const std::uint32_t i = call.communicator;
          return i < count &&
                 before_.communicators[i].eager_bytes != after_.communicators[i].eager_bytes;
        });
  }

  const TaskGraph& before_;
  const TaskGraph& after_;
};

std::vector<std::uint32_t> removed_waits(const TaskGraph& before, const TaskGraph& after,
                                         const std::vector<Wait>& cycle) {
  const Differences differences(before, after);
  std::vector<std::uint32_t> removed;
  for (std::uint32_t i = 0; i < cycle.size(); ++i) {
    if (differences.remove(cycle[i])) removed.push_back(i);
  }
  if (!removed.empty()) return removed;
  // Prefers a wait in a stream's queue: its removed op was queued behind the op that blocked it.
  std::optional<std::uint32_t> gone;
  for (std::uint32_t i = 0; i < cycle.size(); ++i) {
    if (!differences.take_out(cycle[i])) continue;
    if (sim::facts(cycle[i].kind).setting == sim::Setting::kStreams) return {i};
    if (!gone) gone = i;
  }
  if (gone) removed.push_back(*gone);
  return removed;
}

class Search {
 public:
  Search(const formats::EditedScenario& scenario, const FixOptions& options)
      : scenario_(scenario), options_(options), ops_left_(options.max_ops) {}

  std::optional<FixReport> run(const std::vector<formats::Parameter>& parameters,
                               Diagnostics& diagnostics);

 private:
  std::optional<LaidOutJob> lay_out(const TaskGraph& graph, Diagnostics& diagnostics,
                                    Ranks ranks = Ranks::kMin) const;
  bool find_hang(Diagnostics& diagnostics);
  bool find_hang_by_contract(Diagnostics& diagnostics);
  bool take_hang(std::optional<JobRun> run, Diagnostics& diagnostics);
  std::optional<TaskGraph> graph_with(const Edits& edits) const;
  std::optional<Trial> attempt(const Edits& edits, Ranks ranks = Ranks::kMin);
  sim::ExploreOptions explore_options() const;
  void explore(const TaskGraph& graph, sim::Exploration orders, const sim::ExploreOptions& options,
               Fix& fix) const;
  sim::Exploration explore(Trial& trial) const;
  void explore_first_again();
  void mark_less_work(const Trial& trial, Edits& edits);
  bool leads_on(const Explanation& after, bool is_partial) const;
  std::optional<Trial> hang_of(Half half);
  void keep_half(const Edits& edits, Trial trial, const sim::Exploration* orders);
  bool works(const Edit& edit);
  bool keeps_ops(const Edit& edit) const;
  std::optional<std::int64_t> largest_below(const Numbers& numbers);
  std::optional<std::int64_t> smallest(const Numbers& numbers);
  std::optional<std::int64_t> number_of(const Numbers& numbers);
  std::optional<Found> found_by(const Edits& edits, const std::vector<std::uint32_t>& waits);
  std::optional<Found> larger(const Candidate& candidate, std::int64_t too_few);
  void try_candidate(const Candidate& candidate);
  void add_useless(const Candidate& candidate);
  void add_found(const Candidate& candidate, Found found, std::optional<std::int64_t> number);
  void try_pairs();
  void try_on_top(const Edit& first, const Trial& trial, std::uint32_t& tries);
  Found* known(const TaskGraph& graph);
  void sort();
  void put_in_order();
  bool is_stopped() {
    if (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed)) {
      report_.stopped = true;
    }
    return report_.stopped;
  }

  const formats::EditedScenario& scenario_;
  const FixOptions& options_;
  std::uint64_t ops_left_;
  bool lowers_ = true;  // whether the last candidate lowered without errors
  TaskGraph graph_;
  LaidOutJob job_;                 // the job of `graph_`, as in the hanging run
  std::optional<WorkTable> work_;  // the work of `graph_` and `job_`, computed when needed
  FixReport report_;
  std::vector<Found> found_;
  std::vector<Half> halves_;
  std::size_t known_halves_ = 0;  // number of halves_ with a trial
};

std::optional<TaskGraph> Search::graph_with(const Edits& edits) const {
  std::optional<TaskGraph> graph = scenario_.graph(edits);
  if (graph && report_.found == FixCase::kByBuffers) graph->nccl_mode = report_.mode;
  return graph;
}

sim::ExploreOptions Search::explore_options() const {
  sim::ExploreOptions options;
  options.max_states = options_.max_states;
  options.max_steps = options_.max_steps;
  options.walks = options_.walks;
  options.stop = options_.stop;
  return options;
}

std::optional<LaidOutJob> Search::lay_out(const TaskGraph& graph, Diagnostics& diagnostics,
                                          Ranks ranks) const {
  const bool all = ranks == Ranks::kAll || !options_.fold;
  return all ? lower(graph, diagnostics) : lay_out_job(graph, diagnostics);
}

// Stores in `fix` the exploration `orders` of the fixed `graph` in its own reading. If the fix must
// hold both in a fresh job (cold) and by NCCL's contract, also explores `graph` in the other
// reading. Marks a fix that holds only with NCCL's buffers.
void Search::explore(const TaskGraph& graph, sim::Exploration orders,
                     const sim::ExploreOptions& options, Fix& fix) const {
  fix.orders = std::move(orders);
  fix.proved_in.clear();
  if (can_hang(fix.orders) || !has_nccl_modes(graph)) return;
  const auto see = [&](NcclMode mode, const sim::Exploration& found) {
    if (found.answer == Answer::kProved) fix.proved_in.push_back(mode);
  };
  const bool of_contract = report_.found == FixCase::kByBuffers;
  const bool both = of_contract || graph.nccl_mode == NcclMode::kCold;
  if (!both) {
    see(graph.nccl_mode, fix.orders);
    return;
  }
  TaskGraph other = graph;
  other.nccl_mode = of_contract ? NcclMode::kCold : NcclMode::kContract;
  Diagnostics unheard;
  std::optional<LaidOutJob> job = lay_out(other, unheard);
  if (!job) return;
  sim::Exploration in_other = explore_job(other, *job, options);
  fix.by_buffers = !of_contract && can_hang(in_other);
  see(NcclMode::kContract, of_contract ? fix.orders : in_other);
  see(NcclMode::kCold, of_contract ? in_other : fix.orders);
  const bool fails_cold = of_contract && can_hang(in_other);
  if (in_other.answer == Answer::kUndecided || fails_cold) fix.orders = std::move(in_other);
}

// Runs the unchanged scenario and stores the hang to fix, if any. Returns false after an error.
bool Search::find_hang(Diagnostics& diagnostics) {
  std::optional<LaidOutJob> job = lay_out(graph_, diagnostics);
  if (!job) return false;
  sim::RunOptions options;
  options.stop = options_.stop;
  options.keep_op_times = true;
  std::optional<JobRun> now = run_job(graph_, std::move(*job), options);
  if (!now) return take_hang(std::nullopt, diagnostics);
  report_.mode = graph_.nccl_mode;
  if (!now->outcome.completed()) {
    report_.stopped = now->outcome.end == sim::RunEnd::kInterrupted;
    report_.found = FixCase::kHangs;
    report_.memory = most_memory(graph_, lowered_of(now->job), now->outcome);
    return take_hang(std::move(now), diagnostics);
  }
  report_.before = explore_job(graph_, now->job, explore_options(), &now->outcome);
  report_.stopped = report_.before.stopped;
  if (report_.before.hang_found) {
    report_.found = FixCase::kHangsInAnother;
    return take_hang(run_hang(graph_, std::move(now->job), report_.before, options_.stop),
                     diagnostics);
  }
  const bool proved = report_.before.answer == Answer::kProved;
  report_.found = proved ? FixCase::kNothing : FixCase::kNothingFound;
  if (proved && graph_.nccl_mode == NcclMode::kCold && has_nccl_modes(graph_)) {
    return find_hang_by_contract(diagnostics);
  }
  return true;
}

// Searches for a hang by NCCL's contract, because a job that completes when fresh may still rely on
// NCCL's buffers. Returns false after an error.
bool Search::find_hang_by_contract(Diagnostics& diagnostics) {
  TaskGraph graph = graph_;
  graph.nccl_mode = NcclMode::kContract;
  Diagnostics unheard;
  std::optional<LaidOutJob> job = lay_out(graph, unheard);
  if (!job) return true;
  const sim::Exploration orders = explore_job(graph, *job, explore_options());
  if (!orders.hang_found) return true;
  report_.found = FixCase::kByBuffers;
  report_.mode = NcclMode::kContract;
  graph_ = std::move(graph);
  return take_hang(run_hang(graph_, std::move(*job), orders, options_.stop), diagnostics);
}

// Stores the hanging run. Returns false, with errors, if `run` is missing because the whole job is
// too large to run.
bool Search::take_hang(std::optional<JobRun> run, Diagnostics& diagnostics) {
  if (!run) return lower(graph_, diagnostics).has_value();
  report_.explanation = std::move(run->explanation);
  job_ = std::move(run->job);
  return true;
}

// Runs the scenario with `edits`. Returns nullopt if the edits cannot be applied or the run costs
// too much.
std::optional<Trial> Search::attempt(const Edits& edits, Ranks ranks) {
  std::optional<TaskGraph> graph = graph_with(edits);
  if (!graph) return std::nullopt;
  Diagnostics unheard;
  std::optional<LaidOutJob> job = lay_out(*graph, unheard, ranks);
  lowers_ = job.has_value();
  if (!job) return std::nullopt;
  const Lowered& lowered = lowered_of(*job);
  if (lowered.plan.op_count > ops_left_) {
    report_.out_of_budget = true;
    return std::nullopt;
  }
  ops_left_ -= lowered.plan.op_count;
  sim::RunOptions options;
  options.stop = options_.stop;
  options.keep_op_times = has_sizes(*graph);
  Trial trial;
  trial.run.outcome = sim::run(lowered.plan, options);
  trial.completes = trial.run.outcome.completed();
  trial.time_ns = trial.run.outcome.last_progress.ns;
  trial.memory = most_memory(*graph, lowered, trial.run.outcome);
  trial.graph = std::move(*graph);
  trial.run.job = std::move(*job);
  return trial;
}

// Explores the interleavings of a completed run.
sim::Exploration Search::explore(Trial& trial) const {
  return explore_job(trial.graph, trial.run.job, explore_options(), &trial.run.outcome);
}

// Whether `edit` removes the hang. If the unchanged run completes, so that the hang is in another
// interleaving, explores the edited job to decide.
bool Search::works(const Edit& edit) {
  std::optional<Trial> trial = attempt({edit});
  if (!trial || !trial->completes) return false;
  if (report_.found == FixCase::kHangs) return true;
  return !can_hang(explore(*trial));
}

// Whether the job has the same number of ranks and ops after `edit`.
bool Search::keeps_ops(const Edit& edit) const {
  const std::optional<TaskGraph> graph = graph_with({edit});
  if (!graph || graph->ranks != graph_.ranks) return false;
  Diagnostics unheard;
  const std::optional<LaidOutJob> job = lay_out(*graph, unheard);
  return job && ops_of(*job) == ops_of(job_);
}

// Returns the largest number, from `numbers.first` up, that removes the hang and leaves the number
// of ops unchanged. Returns nullopt if the first number fails.
std::optional<std::int64_t> Search::largest_below(const Numbers& numbers) {
  const auto does = [&](std::int64_t number) {
    const Edit edit = numbers.edit(number);
    return keeps_ops(edit) && works(edit);
  };
  std::int64_t few = numbers.first;
  std::int64_t too_many = numbers.before;
  if (!does(few)) return std::nullopt;
  while (too_many - few > 1 && !is_stopped()) {
    const std::int64_t middle = few + (too_many - few) / 2;
    (does(middle) ? few : too_many) = middle;
  }
  return few;
}

// Returns the smallest number that removes the hang.
std::optional<std::int64_t> Search::smallest(const Numbers& numbers) {
  std::int64_t too_few = numbers.before;
  std::int64_t enough = numbers.first;
  while (!works(numbers.edit(enough))) {
    if (enough >= numbers.last || is_stopped()) return std::nullopt;
    too_few = enough;
    enough = std::min(numbers.last, enough * 2);
  }
  while (numbers.search == Numbers::Search::kUp && enough - too_few > 1) {
    const std::int64_t middle = too_few + (enough - too_few) / 2;
    (works(numbers.edit(middle)) ? enough : too_few) = middle;
  }
  return enough;
}

// Returns the number nearest to the present number that removes the hang, if any.
std::optional<std::int64_t> Search::number_of(const Numbers& numbers) {
  return numbers.search == Numbers::Search::kDown ? largest_below(numbers) : smallest(numbers);
}

Found* Search::known(const TaskGraph& graph) {
  for (Found& found : found_) {
    if (found.graph == graph) return &found;
  }
  return nullptr;
}

// Whether the hang after an edit differs from the original hang.
bool is_another(const Explanation& before, const Explanation& after) {
  return after.ops_done > before.ops_done || reason_of(before) != reason_of(after);
}

// Whether an edit makes sends of any size complete without their recvs. No runtime has buffers of
// any size.
bool becomes_buffered(const TaskGraph& before, const TaskGraph& after) {
  return before.pipeline && after.pipeline && before.pipeline->messages != MessageModel::kDir &&
         after.pipeline->messages == MessageModel::kDir;
}

// Marks an edit of a parameter as one that alters the job if the edit removes work. Edits of other
// kinds have this mark from the start.
void Search::mark_less_work(const Trial& trial, Edits& edits) {
  const auto is_parameter = [](const Edit& it) { return it.kind == &edit_kinds::kParameter; };
  const auto edit = std::find_if(edits.begin(), edits.end(), is_parameter);
  if (edit == edits.end() || edit->alters) return;
  if (!work_) work_ = work_of(graph_, job_);
  edit->alters = leaves_out(*work_, work_of(trial.graph, trial.run.job));
}

// Whether a second edit may help after a first edit that leads to the hang `after`. `is_partial`:
// whether the run completes with the first edit.
bool Search::leads_on(const Explanation& after, bool is_partial) const {
  return !after.ranks.empty() && (is_partial || is_another(report_.explanation, after));
}

// Keeps an edit for try_pairs() with the remaining hang: the hang of `trial` or, if `trial`
// completes, a hang from `orders`.
void Search::keep_half(const Edits& edits, Trial trial, const sim::Exploration* orders) {
  if (edits.size() != 1 || known_halves_ >= kMaxHalves) return;
  if (orders != nullptr) {
    auto run = run_hang(trial.graph, std::move(trial.run.job), *orders, options_.stop);
    // `orders` can be from another reading than the graph's own. Keeps nothing if no hang occurs in
    // its own reading.
    if (!run || run->outcome.completed()) return;
    trial.run = std::move(*run);
  } else if (!explain_run(trial.graph, trial.run)) {
    halves_.push_back({edits.front(), std::nullopt});
    return;
  }
  const bool is_partial = orders != nullptr && report_.found == FixCase::kHangs;
  if (!leads_on(trial.run.explanation, is_partial)) return;
  ++known_halves_;
  halves_.push_back({edits.front(), std::move(trial)});
}

// Returns the trial of `half`. Runs all ranks if the representative ranks did not show the hang.
// Returns nullopt if a second edit is unlikely to end the hang of all ranks.
std::optional<Trial> Search::hang_of(Half half) {
  if (half.trial) return std::move(half.trial);
  std::optional<Trial> trial = attempt({half.edit}, Ranks::kAll);
  if (!trial || !explain_run(trial->graph, trial->run)) return std::nullopt;
  return leads_on(trial->run.explanation, false) ? std::move(trial) : std::nullopt;
}

std::optional<Found> Search::found_by(const Edits& edits, const std::vector<std::uint32_t>& waits) {
  std::optional<Trial> trial = attempt(edits);
  if (!trial) return std::nullopt;
  if (!trial->completes) {
    keep_half(edits, std::move(*trial), nullptr);
    return std::nullopt;
  }
  Found found;
  found.graph = without_places(trial->graph);
  found.fix.edits = edits;
  mark_less_work(*trial, found.fix.edits);
  found.fix.time_ns = trial->time_ns;
  found.fix.memory = trial->memory;
  found.fix.waits =
      waits.empty() ? removed_waits(graph_, found.graph, report_.explanation.cycle) : waits;
  if (known(found.graph) != nullptr) return found;
  explore(trial->graph, explore(*trial), explore_options(), found.fix);
  if (becomes_buffered(graph_, found.graph)) {
    found.fix.by_buffers = true;
    found.fix.proved_in.clear();
  }
  if (can_hang(found.fix.orders)) keep_half(edits, std::move(*trial), &found.fix.orders);
  const bool is_no_use = report_.found != FixCase::kHangs && can_hang(found.fix.orders);
  return is_no_use ? std::nullopt : std::optional(std::move(found));
}

// Returns a fix with a larger number, with which no interleaving hangs. `too_few`: the smallest
// number with which the run completes but another interleaving hangs.
std::optional<Found> Search::larger(const Candidate& candidate, std::int64_t too_few) {
  const Numbers& numbers = *candidate.numbers;
  const auto sure_with = [&](std::int64_t number) {
    std::optional<Found> found = found_by({numbers.edit(number)}, candidate.waits);
    return found && !can_hang(found->fix.orders) ? std::move(found) : std::nullopt;
  };
  std::optional<Found> sure;
  std::int64_t enough = too_few;
  for (int tries = 0; tries < kMaxSureNumbers && !sure && enough < numbers.last; ++tries) {
    too_few = enough;
    enough = std::min(numbers.last, too_few * 2);
    sure = sure_with(enough);
  }
  while (sure && numbers.search == Numbers::Search::kUp && enough - too_few > 1) {
    const std::int64_t middle = too_few + (enough - too_few) / 2;
    std::optional<Found> found = sure_with(middle);
    (found ? enough : too_few) = middle;
    if (found) sure = std::move(found);
  }
  return sure;
}

void Search::try_candidate(const Candidate& candidate) {
  if (is_stopped()) return;
  const Edit& first = candidate.edit;
  if (first.patch.empty() || !scenario_.graph({first})) {
    if (first.kind->counts_unwritten && !first.is_variant) ++report_.unwritten;
    return;
  }
  std::optional<std::int64_t> number;
  if (candidate.numbers) number = number_of(*candidate.numbers);
  std::optional<Found> found;
  if (number || !candidate.numbers) {
    found = found_by({number ? candidate.numbers->edit(*number) : first}, candidate.waits);
  }
  if (is_stopped()) return;  // the outcome of an interrupted run is unknown
  if (found) {
    add_found(candidate, std::move(*found), number);
  } else {
    add_useless(candidate);
  }
}

// Reports a candidate that does not remove the hang, with the last number that was tried.
void Search::add_useless(const Candidate& candidate) {
  if (!candidate.numbers) {
    if (lowers_) report_.without_use.push_back(candidate.edit);  // an invalid edit shows no hang
    return;
  }
  const Numbers& numbers = *candidate.numbers;
  if (numbers.search == Numbers::Search::kDown) return;
  const std::int64_t last = std::max(numbers.first, numbers.last);
  Edit edit = numbers.edit(last);
  if (last > numbers.before + 1) edit.range = numbers.range;
  report_.without_use.push_back(std::move(edit));
}

void Search::add_found(const Candidate& candidate, Found found,
                       std::optional<std::int64_t> number) {
  Edit& edit = found.fix.edits.front();
  if (Found* before = known(found.graph)) {
    if (edit.kind->has_variants) return;
    // If two parameters have the same effect, the one that is turned on is likely the intended
    // workaround. The one that is turned off may be the cause of the hang.
    Edit& first = before->fix.edits.front();
    if (edit.turns_on && !first.turns_on) std::swap(first, edit);
    before->fix.same.push_back(std::move(edit));
    return;
  }
  if (number && candidate.numbers->search != Numbers::Search::kDown && can_hang(found.fix.orders)) {
    std::optional<Found> more = larger(candidate, *number);
    if (more && known(more->graph) == nullptr) found = std::move(*more);
  }
  found_.push_back(std::move(found));
}

// Tries pairs of edits if no single edit removes the hang without altering what the job computes.
// The second edit is near the hang that remains after the first edit.
void Search::try_pairs() {
  const bool helped = std::any_of(found_.begin(), found_.end(), [](const Found& found) {
    return !can_hang(found.fix.orders) && !found.fix.by_buffers && !alters_any(found.fix.edits);
  });
  if (helped) return;
  std::vector<Half> halves = std::move(halves_);
  std::uint32_t tries = options_.max_pairs;
  std::size_t left = kMaxHalves;
  for (Half& half : halves) {
    if (left == 0 || tries == 0 || is_stopped()) return;
    const Edit first = half.edit;
    const std::optional<Trial> trial = hang_of(std::move(half));
    if (!trial) continue;
    --left;
    if (!first.alters) try_on_top(first, *trial, tries);
  }
}

void Search::try_on_top(const Edit& first, const Trial& trial, std::uint32_t& tries) {
  const formats::YamlDocument document = scenario_.document({first});
  const formats::ScenarioEdits edits(document.root(), trial.graph.ranks);
  const HangingJob job{trial.graph, lowered_of(trial.run.job), trial.run.explanation, edits};
  const auto try_second = [&](const Candidate& candidate) {
    if (tries == 0 || is_stopped()) return;
    --tries;
    if (candidate.edit.alters || candidate.edit.patch.empty()) return;
    std::optional<Found> found = found_by({first, candidate.edit}, {});
    if (found && known(found->graph) == nullptr) found_.push_back(std::move(*found));
  };
  find_program_edits(job, try_second);
  // Tries only the smallest number of each candidate: the remaining hang is close to the original
  // hang.
  find_graph_edits(job, [&](const Candidate& candidate) {
    const bool goes_down = candidate.numbers && candidate.numbers->search == Numbers::Search::kDown;
    if (!goes_down) try_second(candidate);
  });
}

// Whether fix `a` precedes fix `b` in reports. Fixes that keep what the job computes come first,
// one of each kind before its variants. Proved fixes precede unproved fixes; small and cheap fixes
// precede large ones.
bool is_better(const Fix& a, const Fix& b) {
  const auto key = [](const Fix& fix) {
    Reach reach = Reach::kLocal;
    for (const Edit& edit : fix.edits) reach = std::max(reach, edit.kind->reach);
    return std::tuple(alters_any(fix.edits), fix.variant > 0, fix.by_buffers,
                      fix.orders.answer != Answer::kProved, fix.edits.size(), fix.variant, reach,
                      fix.memory.value_or(0), fix.time_ns);
  };
  return key(a) < key(b);
}

// Sorts the fixes, and numbers the variants of each kind from 0, the best one.
void Search::sort() {
  const auto better = [](const Found& a, const Found& b) { return is_better(a.fix, b.fix); };
  for (Found& found : found_) found.fix.variant = 0;
  std::stable_sort(found_.begin(), found_.end(), better);
  std::map<std::string_view, std::uint32_t> variants;
  for (Found& found : found_) {
    const EditKind& kind = *found.fix.edits.back().kind;
    if (kind.has_variants) found.fix.variant = variants[kind.name]++;
  }
  std::stable_sort(found_.begin(), found_.end(), better);
}

// Explores the first unproved fixes again, with the budget of `check`: users are likely to run it
// next.
void Search::explore_first_again() {
  sim::ExploreOptions options;
  options.stop = options_.stop;
  options.max_states = options_.max_sure_states;
  options.max_steps = options_.max_sure_steps;
  std::uint32_t left = options_.sure_fixes;
  for (Found& found : found_) {
    if (left == 0 || is_stopped()) return;
    // A job with faults has only one interleaving to explore.
    const sim::Exploration& orders = found.fix.orders;
    if (orders.answer != Answer::kUndecided || orders.orders <= 1) continue;
    --left;
    Diagnostics unheard;
    std::optional<LaidOutJob> job = lay_out(found.graph, unheard);
    if (!job) continue;
    Fix again = found.fix;
    explore(found.graph, explore_job(found.graph, *job, options), options, again);
    if (!is_stopped()) found.fix = std::move(again);
  }
}

void Search::put_in_order() {
  sort();
  explore_first_again();
  sort();
  for (Found& found : found_) {
    const bool is_no_use = report_.found != FixCase::kHangs && can_hang(found.fix.orders);
    if (is_no_use) continue;
    found.fix.patch = scenario_.patch(found.fix.edits);
    (can_hang(found.fix.orders) ? report_.partial : report_.fixes).push_back(std::move(found.fix));
  }
}

std::optional<FixReport> Search::run(const std::vector<formats::Parameter>& parameters,
                                     Diagnostics& diagnostics) {
  const TaskGraph& graph = scenario_.unchanged().graph;
  graph_ = without_places(graph);
  if (!find_hang(diagnostics)) return std::nullopt;
  if (!report_.hangs()) return std::move(report_);
  const formats::YamlDocument document = scenario_.document({});
  const formats::ScenarioEdits edits(document.root(), graph.ranks);
  const HangingJob job{graph, lowered_of(job_), report_.explanation, edits};
  const auto try_it = [&](const Candidate& candidate) {
    if (options_.edits_calls || candidate.edit.steps[0].line == 0) try_candidate(candidate);
  };
  find_parameter_edits(parameters, try_it);
  find_graph_edits(job, try_it);
  if (options_.edits_calls) {
    find_program_edits(job, try_it);
    find_order_edits(job, try_it);
    try_pairs();
  }
  is_stopped();  // stores in the report whether the last attempt was stopped
  put_in_order();
  return std::move(report_);
}

}  // namespace

std::optional<FixReport> find_fixes(const std::vector<formats::Parameter>& parameters,
                                    const formats::EditedScenario& scenario,
                                    const FixOptions& options, Diagnostics& diagnostics) {
  return Search(scenario, options).run(parameters, diagnostics);
}

}  // namespace pipesim::models
