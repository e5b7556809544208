#include "models/search/fix.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "models/explain/simulation.hpp"
#include "models/measure/memory.hpp"
#include "models/search/check.hpp"
#include "models/search/fix_candidates.hpp"

namespace pipesim::models {
namespace {

using sim::Answer;

constexpr int kMaxSureNumbers = 4;  // larger numbers where the smallest leaves other hangs

/// One run with a change.
struct Trial {
  TaskGraph graph;
  Lowered lowered;
  bool completes = false;
  std::int64_t time_ns = 0;
  std::optional<std::int64_t> memory;
};

/// What a change that lets the run complete makes of the scenario.
struct Found {
  Fix fix;
  TaskGraph graph;  // without places
};

std::uint64_t acts_of(const Lowered& lowered) {
  std::uint64_t acts = 0;
  for (const auto& actor : lowered.plan.actors) acts += actor.acts;
  return acts;
}

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

const ActorTemplate* actor_named(const TaskGraph& graph, const std::string& name) {
  for (const ActorTemplate& actor : graph.actors) {
    if (actor.name == name) return &actor;
  }
  return nullptr;
}

std::string stream_of(const TaskGraph& graph, const ActorTemplate& actor) {
  return actor.stream == kNoIndex ? std::string() : graph.streams[actor.stream].name;
}

// The names of those that it reads.
std::vector<std::string> sources_of(const TaskGraph& graph, const ActorTemplate& actor) {
  std::vector<std::string> names;
  for (const ReadTemplate& read : actor.reads) names.push_back(graph.actors[read.actor].name);
  return names;
}

// What of the waits of one graph is not there in another.
class Differences {
 public:
  Differences(const TaskGraph& before, const TaskGraph& after) : before_(before), after_(after) {}

  // In what makes a wait of this kind.
  bool remove(const Wait& wait) const {
    switch (wait.kind) {
      case sim::WaitKind::kStreamOrder:
      case sim::WaitKind::kHostWait:
        return moves(wait.from.act.op) || moves(wait.to.act.op);
      case sim::WaitKind::kCreditData:
      case sim::WaitKind::kCreditControl:
        return slots_differ(wait);
      case sim::WaitKind::kCommunicatorCreation:
        return before_.creation != after_.creation;
      case sim::WaitKind::kDeviceRoom:
        return before_.device != after_.device;
      case sim::WaitKind::kLaunchQueue:
        return before_.launch_queue != after_.launch_queue;
      case sim::WaitKind::kPeerOfMessage:
        return eager_differs();
      default:
        return false;
    }
  }

  // In that one of its ends is not there any more, or does not read the other.
  bool take_out(const Wait& wait) const {
    const ActorTemplate* old = actor_named(before_, wait.from.act.op);
    if (old == nullptr) return false;
    const ActorTemplate* now = actor_named(after_, wait.from.act.op);
    if (now == nullptr) return true;
    if (wait.kind != sim::WaitKind::kData) return false;
    const std::vector<std::string> sources = sources_of(after_, *now);
    return std::find(sources.begin(), sources.end(), wait.to.act.op) == sources.end();
  }

 private:
  bool moves(const std::string& op) const {
    const ActorTemplate* old = actor_named(before_, op);
    const ActorTemplate* now = actor_named(after_, op);
    return old != nullptr && now != nullptr && stream_of(before_, *old) != stream_of(after_, *now);
  }

  bool slots_differ(const Wait& wait) const {
    const ActorTemplate* old = actor_named(before_, wait.from.act.op);
    const ActorTemplate* now = actor_named(after_, wait.from.act.op);
    if (old == nullptr || now == nullptr) return false;
    for (const RegisterTemplate& a : old->registers) {
      for (const RegisterTemplate& b : now->registers) {
        if (a.name == wait.reg && b.name == wait.reg && a.slots != b.slots) return true;
      }
    }
    return false;
  }

  bool eager_differs() const {
    const std::size_t count = std::min(before_.communicators.size(), after_.communicators.size());
    for (std::size_t i = 0; i < count; ++i) {
      if (before_.communicators[i].eager_bytes != after_.communicators[i].eager_bytes) return true;
    }
    return false;
  }

  const TaskGraph& before_;
  const TaskGraph& after_;
};

std::optional<std::uint32_t> removed_wait(const TaskGraph& before, const TaskGraph& after,
                                          const std::vector<Wait>& cycle) {
  const Differences differences(before, after);
  for (std::uint32_t i = 0; i < cycle.size(); ++i) {
    if (differences.remove(cycle[i])) return i;
  }
  // Where the one behind another is gone, that is what the other was in the way of.
  std::optional<std::uint32_t> gone;
  for (std::uint32_t i = 0; i < cycle.size(); ++i) {
    if (!differences.take_out(cycle[i])) continue;
    const bool behind =
        cycle[i].kind == sim::WaitKind::kStreamOrder || cycle[i].kind == sim::WaitKind::kHostWait;
    if (behind) return i;
    if (!gone) gone = i;
  }
  return gone;
}

class Search {
 public:
  Search(const GraphWith& with, const FixOptions& options)
      : with_(with), options_(options), acts_left_(options.most_acts) {}

  std::optional<FixReport> run(const std::vector<Switch>& switches, Diagnostics& diagnostics);

 private:
  bool find_hang(Diagnostics& diagnostics);
  std::optional<Trial> attempt(const Change& change);
  sim::ExploreOptions explore_options() const;
  sim::Exploration explore(const Lowered& lowered) const;
  bool works(const Change& change);
  void try_candidate(const Candidate& candidate);
  std::optional<Change> smallest(const Candidate& candidate);
  std::optional<Found> found_by(const Change& change);
  std::optional<Found> larger(const Candidate& candidate, const Found& small);
  Found* known(const TaskGraph& graph);
  void put_in_order();
  bool is_stopped() {
    if (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed)) {
      report_.stopped = true;
    }
    return report_.stopped;
  }

  const GraphWith& with_;
  const FixOptions& options_;
  std::uint64_t acts_left_;
  TaskGraph graph_;
  std::optional<Lowered> lowered_;
  FixReport report_;
  std::vector<Found> found_;
};

sim::ExploreOptions Search::explore_options() const {
  sim::ExploreOptions options;
  options.max_states = options_.max_states;
  options.max_steps = options_.max_steps;
  options.walks = options_.walks;
  options.stop = options_.stop;
  return options;
}

sim::Exploration Search::explore(const Lowered& lowered) const {
  return sim::explore(lowered.plan, explore_options());
}

// Runs the scenario as it is, and says whether there is something to fix.
bool Search::find_hang(Diagnostics& diagnostics) {
  lowered_ = lower(graph_, diagnostics);
  if (!lowered_) return false;
  sim::RunOptions run;
  run.stop = options_.stop;
  run.keep_act_times = true;
  Simulation now = simulate(graph_, *lowered_, run);
  if (!now.outcome.completed()) {
    report_.stopped = now.outcome.end == sim::RunEnd::kInterrupted;
    report_.found = FixCase::kHangs;
    report_.memory = most_memory(graph_, now.lowered, now.outcome);
    report_.explanation = std::move(now.explanation);
    return true;
  }
  CheckReport checked = check(graph_, std::move(now), explore_options());
  report_.before = std::move(checked.exploration);
  report_.stopped = report_.before.stopped;
  if (!checked.hang) {
    const bool proved = report_.before.answer == Answer::kProved;
    report_.found = proved ? FixCase::kNothing : FixCase::kNothingFound;
    return true;
  }
  report_.found = FixCase::kHangsInAnother;
  report_.explanation = std::move(checked.hang->explanation);
  return true;
}

// Nothing where it cannot be told, or costs too much to try.
std::optional<Trial> Search::attempt(const Change& change) {
  std::optional<TaskGraph> graph = with_(&change);
  if (!graph) return std::nullopt;
  Diagnostics unheard;
  std::optional<Lowered> lowered = lower(*graph, unheard);
  if (!lowered) return std::nullopt;
  Trial trial;
  const std::uint64_t acts = acts_of(*lowered);
  if (acts > acts_left_) {
    report_.out_of_budget = true;
  } else {
    acts_left_ -= acts;
    sim::RunOptions options;
    options.stop = options_.stop;
    options.keep_act_times = has_sizes(*graph);
    const sim::Outcome outcome = sim::run(lowered->plan, options);
    trial.completes = outcome.completed();
    trial.time_ns = outcome.last_progress.ns;
    trial.memory = most_memory(*graph, *lowered, outcome);
  }
  trial.graph = std::move(*graph);
  trial.lowered = std::move(*lowered);
  return trial;
}

// Where the run completes as it is, only other orders tell.
bool Search::works(const Change& change) {
  const std::optional<Trial> trial = attempt(change);
  if (!trial || !trial->completes) return false;
  return report_.found == FixCase::kHangs || !can_hang(explore(trial->lowered));
}

Change with_number(Change change, std::int64_t number) {
  change.number = number;
  return change;
}

// Of the numbers of the candidate the smallest that works, if more work where few do.
std::optional<Change> Search::smallest(const Candidate& candidate) {
  const Change& change = candidate.change;
  if (candidate.most == 0) return works(change) ? std::optional(change) : std::nullopt;
  std::int64_t too_few = change.before;
  std::int64_t enough = change.number;
  while (!works(with_number(change, enough))) {
    if (enough >= candidate.most || is_stopped()) return std::nullopt;
    too_few = enough;
    enough = std::min(candidate.most, enough * 2);
  }
  while (!candidate.doubling && enough - too_few > 1) {
    const std::int64_t middle = too_few + (enough - too_few) / 2;
    (works(with_number(change, middle)) ? enough : too_few) = middle;
  }
  return with_number(change, enough);
}

Found* Search::known(const TaskGraph& graph) {
  for (Found& found : found_) {
    if (found.graph == graph) return &found;
  }
  return nullptr;
}

std::optional<Found> Search::found_by(const Change& change) {
  std::optional<Trial> trial = attempt(change);
  if (!trial || !trial->completes) return std::nullopt;
  Found found;
  found.graph = without_places(std::move(trial->graph));
  found.fix.change = change;
  found.fix.time_ns = trial->time_ns;
  found.fix.memory = trial->memory;
  found.fix.wait = removed_wait(graph_, found.graph, report_.explanation.cycle);
  if (known(found.graph) == nullptr) found.fix.orders = explore(trial->lowered);
  return found;
}

// Where the smallest number leaves orders that hang, a larger one may not.
std::optional<Found> Search::larger(const Candidate& candidate, const Found& small) {
  std::int64_t too_few = small.fix.change.number;
  std::optional<Found> enough;
  for (int tries = 0; tries < kMaxSureNumbers && too_few < candidate.most; ++tries) {
    const std::int64_t number = std::min(candidate.most, too_few * 2);
    std::optional<Found> found = found_by(with_number(candidate.change, number));
    if (found && !can_hang(found->fix.orders)) {
      enough = std::move(found);
      break;
    }
    too_few = number;
  }
  while (enough && !candidate.doubling && enough->fix.change.number - too_few > 1) {
    const std::int64_t most = enough->fix.change.number;
    const std::int64_t middle = too_few + (most - too_few) / 2;
    std::optional<Found> found = found_by(with_number(candidate.change, middle));
    if (found && !can_hang(found->fix.orders)) {
      enough = std::move(found);
    } else {
      too_few = middle;
    }
  }
  return enough;
}

void Search::try_candidate(const Candidate& candidate) {
  if (is_stopped()) return;
  const std::optional<TaskGraph> first = with_(&candidate.change);
  if (!first) {
    ++report_.unwritten;
    return;
  }
  const std::optional<Change> change = smallest(candidate);
  std::optional<Found> found = change ? found_by(*change) : std::nullopt;
  if (is_stopped()) return;  // nobody knows what it would have come to
  if (!found) {
    const std::int64_t number = std::max(candidate.most, candidate.change.number);
    report_.without_use.push_back(with_number(candidate.change, number));
    return;
  }
  if (Found* before = known(found->graph)) {
    before->fix.same.push_back(*change);
    return;
  }
  if (candidate.most > 0 && can_hang(found->fix.orders)) {
    std::optional<Found> more = larger(candidate, *found);
    if (more && known(more->graph) == nullptr) found = std::move(more);
  }
  found_.push_back(std::move(*found));
}

// Sure ones first, then those that cost less.
void Search::put_in_order() {
  const auto key = [](const Found& found) {
    const Fix& fix = found.fix;
    return std::tuple(fix.orders.answer != Answer::kProved, fix.memory.value_or(0), fix.time_ns);
  };
  std::stable_sort(found_.begin(), found_.end(),
                   [&](const Found& a, const Found& b) { return key(a) < key(b); });
  for (Found& found : found_) {
    (can_hang(found.fix.orders) ? report_.partial : report_.fixes).push_back(std::move(found.fix));
  }
}

std::optional<FixReport> Search::run(const std::vector<Switch>& switches,
                                     Diagnostics& diagnostics) {
  std::optional<TaskGraph> graph = with_(nullptr);
  if (!graph) return std::nullopt;
  graph_ = without_places(*graph);
  if (!find_hang(diagnostics)) return std::nullopt;
  const bool hangs = report_.found == FixCase::kHangs || report_.found == FixCase::kHangsInAnother;
  if (!hangs) return std::move(report_);
  for (const Candidate& candidate : switch_candidates(switches)) try_candidate(candidate);
  for (const Candidate& candidate : graph_candidates(*graph, *lowered_, report_.explanation)) {
    try_candidate(candidate);
  }
  is_stopped();  // also while the last was tried
  put_in_order();
  return std::move(report_);
}

}  // namespace

std::optional<FixReport> find_fixes(const std::vector<Switch>& switches, const GraphWith& with,
                                    const FixOptions& options, Diagnostics& diagnostics) {
  return Search(with, options).run(switches, diagnostics);
}

}  // namespace pipesim::models
