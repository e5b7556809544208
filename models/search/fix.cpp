#include "models/search/fix.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "models/explain/hang_signature.hpp"
#include "models/explain/simulation.hpp"
#include "models/measure/memory.hpp"
#include "models/search/check.hpp"
#include "models/search/fix_candidates.hpp"
#include "models/search/order_changes.hpp"
#include "models/search/program_changes.hpp"
#include "models/search/readings.hpp"

namespace pipesim::models {
namespace {

using sim::Answer;

constexpr int kMaxSureNumbers = 4;  // larger numbers where the smallest leaves other hangs

constexpr std::size_t kMaxHalves = 24;

using Changes = std::vector<Change>;

/// One run with changes.
struct Trial {
  TaskGraph graph;
  Simulation run;
  bool completes = false;
  std::int64_t time_ns = 0;
  std::optional<std::int64_t> memory;
};

/// A change after which the run hangs elsewhere: another may be tried on top of it.
struct Half {
  Changes changes;
  TaskGraph graph;
  Simulation run;
};

/// Calls of one kind, of all ranks together.
struct Work {
  std::uint64_t calls = 0;
  double bytes = 0;  // sums of many ranks and rounds are larger than an integer
};

/// Collectives by operation and members: which communicator of the same ranks they use does not
/// matter. Sends and recvs (operations below 0) by kind.
using WorkKey = std::pair<int, std::vector<std::uint32_t>>;
using WorkTable = std::map<WorkKey, Work>;

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

// Calls of a group count one by one, so that other groups of the same calls are the same work.
WorkTable work_of(const TaskGraph& graph, const Lowered& lowered) {
  WorkTable table;
  const auto add = [&](int operation, std::uint32_t group, std::uint32_t rank, std::uint64_t acts,
                       std::int64_t bytes) {
    std::vector<std::uint32_t> members;
    if (operation >= 0 && group != kNoIndex) {
      const std::uint32_t list = graph.groups[group].list_of(rank);
      if (list != kNoIndex) members = graph.groups[group].lists[list];
    }
    Work& work = table[{operation, std::move(members)}];
    work.calls += acts;
    work.bytes += static_cast<double>(acts) * static_cast<double>(bytes);
  };
  for (const sim::ActorId id : sim::ids_of(lowered.plan.actors)) {
    const std::uint32_t index = lowered.actor_template[id];
    if (index >= graph.actors.size()) continue;
    const ActorTemplate& actor = graph.actors[index];
    const std::uint32_t rank = lowered.plan.actors[id].rank.value;
    const std::uint64_t acts = lowered.plan.actors[id].acts;
    if (actor.collective) {
      const CollectiveTemplate& of = *actor.collective;
      add(static_cast<int>(of.operation), of.group, rank, acts, of.bytes);
    }
    // Turns of a thread that drives several ranks are no work.
    if (!actor.step || actor.step->implied) continue;
    for (const CallTemplate& call : actor.step->calls) {
      const bool collective = call.kind == sim::CallKind::kCollective;
      const bool known = call.communicator < graph.communicators.size();
      add(collective ? static_cast<int>(call.operation) : -static_cast<int>(call.kind),
          known ? graph.communicators[call.communicator].group : kNoIndex, rank, acts,
          call.bytes.value(rank).value_or(0));
    }
  }
  return table;
}

// Whether of some calls there are fewer, or they move less.
bool leaves_out(const WorkTable& before, const WorkTable& after) {
  constexpr double kRounding = 1e-9;
  return std::any_of(before.begin(), before.end(), [&](const auto& entry) {
    const auto found = after.find(entry.first);
    const Work now = found == after.end() ? Work() : found->second;
    return now.calls < entry.second.calls || now.bytes < entry.second.bytes * (1.0 - kRounding);
  });
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

// Steps of different ranks may share a name.
const ActorTemplate* actor_of(const TaskGraph& graph, const ActInfo& act) {
  for (const ActorTemplate& actor : graph.actors) {
    if (actor.name == act.op && actor.on.contains(act.rank)) return &actor;
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
        return moves(wait.from.act) || moves(wait.to.act);
      case sim::WaitKind::kCreditData:
      case sim::WaitKind::kCreditControl:
        return slots_differ(wait);
      case sim::WaitKind::kCommunicatorCreation:
        return before_.creation != after_.creation;
      case sim::WaitKind::kDeviceRoom:
        return before_.device != after_.device;
      case sim::WaitKind::kLaunchQueue:
        return before_.launch_queue != after_.launch_queue ||
               before_.device.launch_queue != after_.device.launch_queue;
      case sim::WaitKind::kPeerOfMessage:
        return eager_differs(wait.from.act);
      default:
        return false;
    }
  }

  // In that one of its ends is not there any more, or does not read the other.
  bool take_out(const Wait& wait) const {
    const ActorTemplate* old = actor_of(before_, wait.from.act);
    if (old == nullptr) return false;
    const ActorTemplate* now = actor_of(after_, wait.from.act);
    if (now == nullptr) return true;
    if (wait.kind != sim::WaitKind::kData) return false;
    const std::vector<std::string> sources = sources_of(after_, *now);
    return std::find(sources.begin(), sources.end(), wait.to.act.op) == sources.end();
  }

 private:
  bool moves(const ActInfo& act) const {
    const ActorTemplate* old = actor_of(before_, act);
    const ActorTemplate* now = actor_of(after_, act);
    return old != nullptr && now != nullptr && stream_of(before_, *old) != stream_of(after_, *now);
  }

  bool slots_differ(const Wait& wait) const {
    const ActorTemplate* old = actor_of(before_, wait.from.act);
    const ActorTemplate* now = actor_of(after_, wait.from.act);
    if (old == nullptr || now == nullptr) return false;
    for (const RegisterTemplate& a : old->registers) {
      for (const RegisterTemplate& b : now->registers) {
        if (a.name == wait.reg && b.name == wait.reg && a.slots != b.slots) return true;
      }
    }
    return false;
  }

  // Of the communicators that it calls.
  bool eager_differs(const ActInfo& act) const {
    const ActorTemplate* old = actor_of(before_, act);
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
  // Where the one behind another is gone, that is what the other was in the way of.
  std::optional<std::uint32_t> gone;
  for (std::uint32_t i = 0; i < cycle.size(); ++i) {
    if (!differences.take_out(cycle[i])) continue;
    const bool behind =
        cycle[i].kind == sim::WaitKind::kStreamOrder || cycle[i].kind == sim::WaitKind::kHostWait;
    if (behind) return {i};
    if (!gone) gone = i;
  }
  if (gone) removed.push_back(*gone);
  return removed;
}

class Search {
 public:
  Search(const GraphWith& with, const FixOptions& options)
      : with_(with), options_(options), acts_left_(options.most_acts) {}

  std::optional<FixReport> run(const std::vector<Switch>& switches, Diagnostics& diagnostics);

 private:
  bool find_hang(Diagnostics& diagnostics);
  void find_hang_by_contract();
  std::optional<TaskGraph> graph_with(const Changes& changes) const;
  std::optional<Trial> attempt(const Changes& changes);
  sim::ExploreOptions explore_options() const;
  void explore(const TaskGraph& graph, const sim::Plan& plan, const sim::ExploreOptions& options,
               Fix& fix) const;
  void explore_first_again();
  void mark_less_work(const Trial& trial, Changes& changes);
  void keep_half(const Changes& changes, Trial trial, const sim::Exploration* orders);
  bool works(const Change& change);
  std::optional<Change> largest_below(const Candidate& candidate);
  void try_candidate(const Candidate& candidate);
  void try_pairs();
  void try_on_top(const Half& half, std::uint32_t& tries);
  std::optional<Change> smallest(const Candidate& candidate);
  std::optional<Found> found_by(const Changes& changes, const std::vector<std::uint32_t>& waits);
  std::optional<Found> larger(const Candidate& candidate, const Found& small);
  Found* known(const TaskGraph& graph);
  void sort();
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
  bool lowers_ = true;  // what was tried last
  TaskGraph graph_;
  std::optional<Lowered> lowered_;
  std::optional<WorkTable> work_;  // of both
  FixReport report_;
  std::vector<Found> found_;
  std::vector<Half> halves_;
};

std::optional<TaskGraph> Search::graph_with(const Changes& changes) const {
  std::optional<TaskGraph> graph = with_(changes);
  if (graph && report_.found == FixCase::kByBuffers) graph->reading = report_.reading;
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

// A fix holds in a fresh job and by NCCL's contract. Where it holds by buffers alone, that is told.
void Search::explore(const TaskGraph& graph, const sim::Plan& plan,
                     const sim::ExploreOptions& options, Fix& fix) const {
  fix.orders = sim::explore(plan, options);
  fix.proved_in.clear();
  if (can_hang(fix.orders) || !has_readings(graph)) return;
  const auto see = [&](Reading reading, const sim::Exploration& orders) {
    if (orders.answer == Answer::kProved) fix.proved_in.push_back(reading);
  };
  const bool of_contract = report_.found == FixCase::kByBuffers;
  const bool both = of_contract || graph.reading == Reading::kCold;
  if (!both) {
    see(graph.reading, fix.orders);
    return;
  }
  TaskGraph other = graph;
  other.reading = of_contract ? Reading::kCold : Reading::kContract;
  Diagnostics unheard;
  const std::optional<Lowered> lowered = lower(other, unheard);
  if (!lowered) return;
  sim::Exploration orders = sim::explore(lowered->plan, options);
  fix.by_buffers = !of_contract && can_hang(orders);
  see(Reading::kContract, of_contract ? fix.orders : orders);
  see(Reading::kCold, of_contract ? orders : fix.orders);
  const bool fails_cold = of_contract && can_hang(orders);
  if (orders.answer == Answer::kUndecided || fails_cold) fix.orders = std::move(orders);
}

// Runs the scenario as it is, and says whether there is something to fix.
bool Search::find_hang(Diagnostics& diagnostics) {
  lowered_ = lower(graph_, diagnostics);
  if (!lowered_) return false;
  sim::RunOptions run;
  run.stop = options_.stop;
  run.keep_act_times = true;
  Simulation now = simulate(graph_, *lowered_, run);
  report_.reading = graph_.reading;
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
  if (checked.hang) {
    report_.found = FixCase::kHangsInAnother;
    report_.explanation = std::move(checked.hang->explanation);
    lowered_ = std::move(checked.hang->lowered);
    return true;
  }
  const bool proved = report_.before.answer == Answer::kProved;
  report_.found = proved ? FixCase::kNothing : FixCase::kNothingFound;
  if (proved && graph_.reading == Reading::kCold && has_readings(graph_)) {
    find_hang_by_contract();
  }
  return true;
}

// What completes in a fresh job may need the buffers of NCCL for it.
void Search::find_hang_by_contract() {
  TaskGraph graph = graph_;
  graph.reading = Reading::kContract;
  Diagnostics unheard;
  std::optional<Lowered> lowered = lower(graph, unheard);
  if (!lowered) return;
  CheckReport checked = check(graph, std::move(*lowered), explore_options());
  const Simulation* hang = checked.hanging();
  if (hang == nullptr) return;
  report_.found = FixCase::kByBuffers;
  report_.reading = Reading::kContract;
  report_.explanation = hang->explanation;
  lowered_ = hang->lowered;
  graph_ = std::move(graph);
}

// Nothing where it cannot be told, or costs too much to try.
std::optional<Trial> Search::attempt(const Changes& changes) {
  std::optional<TaskGraph> graph = graph_with(changes);
  if (!graph) return std::nullopt;
  Diagnostics unheard;
  std::optional<Lowered> lowered = lower(*graph, unheard);
  lowers_ = lowered.has_value();
  if (!lowered) return std::nullopt;
  Trial trial;
  const std::uint64_t acts = acts_of(*lowered);
  if (acts > acts_left_) {
    report_.out_of_budget = true;
    trial.run.lowered = std::move(*lowered);
  } else {
    acts_left_ -= acts;
    sim::RunOptions options;
    options.stop = options_.stop;
    options.keep_act_times = has_sizes(*graph);
    trial.run = simulate(*graph, std::move(*lowered), options);
    trial.completes = trial.run.outcome.completed();
    trial.time_ns = trial.run.outcome.last_progress.ns;
    trial.memory = most_memory(*graph, trial.run.lowered, trial.run.outcome);
  }
  trial.graph = std::move(*graph);
  return trial;
}

// Where the run completes as it is, only other orders tell.
bool Search::works(const Change& change) {
  const std::optional<Trial> trial = attempt({change});
  if (!trial || !trial->completes) return false;
  if (report_.found == FixCase::kHangs) return true;
  return !can_hang(sim::explore(trial->run.lowered.plan, explore_options()));
}

Change with_number(Change change, std::int64_t number) {
  change.number = number;
  return change;
}

// Of numbers below the present one, with which there is as much to do.
std::optional<Change> Search::largest_below(const Candidate& candidate) {
  const auto does = [&](std::int64_t number) {
    const Change change = with_number(candidate.change, number);
    std::optional<TaskGraph> graph = graph_with({change});
    if (!graph || graph->ranks != graph_.ranks) return false;
    Diagnostics unheard;
    const std::optional<Lowered> lowered = lower(*graph, unheard);
    return lowered && acts_of(*lowered) == acts_of(*lowered_) && works(change);
  };
  std::int64_t few = candidate.least;
  std::int64_t too_many = candidate.change.before;
  if (!does(few)) return std::nullopt;
  while (too_many - few > 1 && !is_stopped()) {
    const std::int64_t middle = few + (too_many - few) / 2;
    (does(middle) ? few : too_many) = middle;
  }
  return with_number(candidate.change, few);
}

// Of the numbers of the candidate the smallest that works, if more work where few do.
std::optional<Change> Search::smallest(const Candidate& candidate) {
  const Change& change = candidate.change;
  if (candidate.least > 0) return largest_below(candidate);
  if (candidate.most == 0) return change;
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

// Whether a hang that a change leaves is another one than that which was there.
bool is_another(const Explanation& before, const Explanation& after) {
  return after.acts_done > before.acts_done || reason_of(before) != reason_of(after);
}

// Messages that do not wait for their recvs, whatever their size: no runtime has such buffers.
bool becomes_buffered(const TaskGraph& before, const TaskGraph& after) {
  return before.pipeline && after.pipeline && before.pipeline->messages != MessageModel::kDir &&
         after.pipeline->messages == MessageModel::kDir;
}

// A parameter that leaves out calls is a change of the job. What other changes do is known.
void Search::mark_less_work(const Trial& trial, Changes& changes) {
  const auto is_switch = [](const Change& it) { return it.kind == Change::Kind::kSwitch; };
  const auto change = std::find_if(changes.begin(), changes.end(), is_switch);
  if (change == changes.end() || change->alters) return;
  if (!work_) work_ = work_of(graph_, *lowered_);
  change->alters = leaves_out(*work_, work_of(trial.graph, trial.run.lowered));
}

// What a change leaves to a second one: the hang of its run or, where that completes, the one that
// `orders` found.
void Search::keep_half(const Changes& changes, Trial trial, const sim::Exploration* orders) {
  if (changes.size() != 1 || halves_.size() >= kMaxHalves) return;
  Half half{changes, std::move(trial.graph), std::move(trial.run)};
  if (orders != nullptr) {
    sim::RunOptions replay;
    replay.stop = options_.stop;
    if (orders->reading.any()) replay.reading = &orders->reading;
    if (!orders->hang.empty()) replay.order = &orders->hang;
    half.run = simulate(half.graph, std::move(half.run.lowered), replay);
    // The order may be that of another reading.
    if (half.run.outcome.completed()) return;
  }
  const bool is_partial = orders != nullptr && report_.found == FixCase::kHangs;
  if (half.run.explanation.ranks.empty()) return;
  if (!is_partial && !is_another(report_.explanation, half.run.explanation)) return;
  halves_.push_back(std::move(half));
}

std::optional<Found> Search::found_by(const Changes& changes,
                                      const std::vector<std::uint32_t>& waits) {
  std::optional<Trial> trial = attempt(changes);
  if (!trial) return std::nullopt;
  if (!trial->completes) {
    keep_half(changes, std::move(*trial), nullptr);
    return std::nullopt;
  }
  Found found;
  found.graph = without_places(trial->graph);
  found.fix.changes = changes;
  mark_less_work(*trial, found.fix.changes);
  found.fix.time_ns = trial->time_ns;
  found.fix.memory = trial->memory;
  found.fix.waits =
      waits.empty() ? removed_waits(graph_, found.graph, report_.explanation.cycle) : waits;
  if (known(found.graph) != nullptr) return found;
  explore(trial->graph, trial->run.lowered.plan, explore_options(), found.fix);
  if (becomes_buffered(graph_, found.graph)) {
    found.fix.by_buffers = true;
    found.fix.proved_in.clear();
  }
  if (can_hang(found.fix.orders)) keep_half(changes, std::move(*trial), &found.fix.orders);
  const bool is_no_use = report_.found != FixCase::kHangs && can_hang(found.fix.orders);
  return is_no_use ? std::nullopt : std::optional(std::move(found));
}

// Where the smallest number leaves orders that hang, a larger one may not.
std::optional<Found> Search::larger(const Candidate& candidate, const Found& small) {
  std::int64_t too_few = small.fix.changes.front().number;
  std::optional<Found> enough;
  const auto found_with = [&](std::int64_t number) {
    return found_by({with_number(candidate.change, number)}, candidate.waits);
  };
  for (int tries = 0; tries < kMaxSureNumbers && too_few < candidate.most; ++tries) {
    const std::int64_t number = std::min(candidate.most, too_few * 2);
    std::optional<Found> found = found_with(number);
    if (found && !can_hang(found->fix.orders)) {
      enough = std::move(found);
      break;
    }
    too_few = number;
  }
  while (enough && !candidate.doubling && enough->fix.changes.front().number - too_few > 1) {
    const std::int64_t most = enough->fix.changes.front().number;
    const std::int64_t middle = too_few + (most - too_few) / 2;
    std::optional<Found> found = found_with(middle);
    if (found && !can_hang(found->fix.orders)) {
      enough = std::move(found);
    } else {
      too_few = middle;
    }
  }
  return enough;
}

// Whether it is told if it cannot be written. Of changes of steps that come in several forms only
// the plainest is.
bool is_told(const Change& change) {
  if (change.kind < Change::Kind::kAfter || change.kind == Change::Kind::kLaunchOrder) return true;
  const bool of_two = change.kind == Change::Kind::kBatch || change.kind == Change::Kind::kMove;
  return of_two && !change.behind && change.on.empty();
}

// Of two parameters that make the same of the job, the one that is turned on is what was added to
// it against the hang; one that is turned off may be what asks for the hang.
bool turns_on(const Change& change) {
  return change.kind == Change::Kind::kSwitch && change.from == "off" && change.to == "on";
}

bool alters_any(const Changes& changes) {
  return std::any_of(changes.begin(), changes.end(),
                     [](const Change& change) { return change.alters; });
}

void Search::try_candidate(const Candidate& candidate) {
  if (is_stopped()) return;
  if (!with_({candidate.change})) {
    if (is_told(candidate.change)) ++report_.unwritten;
    return;
  }
  const std::optional<Change> change = smallest(candidate);
  std::optional<Found> found = change ? found_by({*change}, candidate.waits) : std::nullopt;
  if (is_stopped()) return;  // nobody knows what it would have come to
  if (!found && candidate.least > 0) return;
  if (!found && candidate.most == 0 && !lowers_) return;  // a mistake is no hang
  if (!found) {
    const std::int64_t number = std::max(candidate.most, candidate.change.number);
    report_.without_use.push_back(with_number(candidate.change, number));
    return;
  }
  if (Found* before = known(found->graph)) {
    if (change->kind >= Change::Kind::kAfter) return;
    Change& first = before->fix.changes.front();
    before->fix.same.push_back(*change);
    if (turns_on(*change) && !turns_on(first)) std::swap(first, before->fix.same.back());
    return;
  }
  if (candidate.most > 0 && can_hang(found->fix.orders)) {
    std::optional<Found> more = larger(candidate, *found);
    if (more && known(more->graph) == nullptr) found = std::move(more);
  }
  found_.push_back(std::move(*found));
}

// Where no single change helps without changing what the job computes: one that leaves another
// hang, and one of those near that.
void Search::try_pairs() {
  const bool helped = std::any_of(found_.begin(), found_.end(), [](const Found& found) {
    return !can_hang(found.fix.orders) && !found.fix.by_buffers && !alters_any(found.fix.changes);
  });
  if (helped) return;
  const std::vector<Half> halves = std::move(halves_);
  std::uint32_t tries = options_.max_pairs;
  for (const Half& half : halves) {
    if (half.changes.front().alters) continue;
    try_on_top(half, tries);
  }
}

void Search::try_on_top(const Half& half, std::uint32_t& tries) {
  std::vector<Candidate> candidates =
      program_candidates(half.graph, half.run.lowered, half.run.explanation);
  // Of a number the smallest: the hang that is left is near the one that it removed.
  for (Candidate& of_graph : graph_candidates(half.graph, half.run.lowered, half.run.explanation)) {
    if (of_graph.least == 0) candidates.push_back(std::move(of_graph));
  }
  for (const Candidate& candidate : candidates) {
    if (tries == 0 || is_stopped()) return;
    --tries;
    if (candidate.change.alters) continue;
    std::optional<Found> found = found_by({half.changes.front(), candidate.change}, {});
    if (!found || known(found->graph) != nullptr) continue;
    found_.push_back(std::move(*found));
  }
}

// How much of the program, or of what is around it, a change touches.
int reach_of(const Change& change) {
  switch (change.kind) {
    case Change::Kind::kMove:
      return change.on.empty() ? 0 : 1;
    case Change::Kind::kCopy:
    case Change::Kind::kOtherEnd:
    case Change::Kind::kOneOrder:
    case Change::Kind::kCreation:
    case Change::Kind::kCommunicator:
    case Change::Kind::kMessages:
      return 1;
    case Change::Kind::kLaunchOrder:
      return 2;
    case Change::Kind::kResident:  // of the hardware
    case Change::Kind::kHardwareQueues:
    case Change::Kind::kLaunchQueue:
    case Change::Kind::kEager:
      return 3;
    default:
      return 0;
  }
}

// Those first that leave what the job computes, in the order in which reports tell them: one of
// each kind, then its variants. Then sure ones; then those that change least and cost less.
bool is_better(const Fix& a, const Fix& b) {
  const auto key = [](const Fix& fix) {
    int reach = 0;
    for (const Change& change : fix.changes) reach = std::max(reach, reach_of(change));
    return std::tuple(alters_any(fix.changes), fix.variant > 0, fix.by_buffers,
                      fix.orders.answer != Answer::kProved, fix.changes.size(), fix.variant, reach,
                      fix.memory.value_or(0), fix.time_ns);
  };
  return key(a) < key(b);
}

// Changes of programs come in variants: the same of another step, or on other ranks.
void Search::sort() {
  const auto better = [](const Found& a, const Found& b) { return is_better(a.fix, b.fix); };
  for (Found& found : found_) found.fix.variant = 0;
  std::stable_sort(found_.begin(), found_.end(), better);
  std::map<Change::Kind, std::uint32_t> variants;
  for (Found& found : found_) {
    const Change::Kind kind = found.fix.changes.back().kind;
    if (kind >= Change::Kind::kAfter) found.fix.variant = variants[kind]++;
  }
  std::stable_sort(found_.begin(), found_.end(), better);
}

// The first that are not proved get as much as `check` takes: what a user would do next.
void Search::explore_first_again() {
  sim::ExploreOptions options;
  options.stop = options_.stop;
  options.max_states = options_.max_sure_states;
  options.max_steps = options_.max_sure_steps;
  std::uint32_t left = options_.sure_fixes;
  for (Found& found : found_) {
    if (left == 0 || is_stopped()) return;
    // With faults, only one order counts.
    const sim::Exploration& orders = found.fix.orders;
    if (orders.answer != Answer::kUndecided || orders.orders <= 1) continue;
    --left;
    Diagnostics unheard;
    const std::optional<Lowered> lowered = lower(found.graph, unheard);
    if (!lowered) continue;
    Fix again = found.fix;
    explore(found.graph, lowered->plan, options, again);
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
    (can_hang(found.fix.orders) ? report_.partial : report_.fixes).push_back(std::move(found.fix));
  }
}

std::optional<FixReport> Search::run(const std::vector<Switch>& switches,
                                     Diagnostics& diagnostics) {
  std::optional<TaskGraph> graph = with_({});
  if (!graph) return std::nullopt;
  graph_ = without_places(*graph);
  if (!find_hang(diagnostics)) return std::nullopt;
  const bool nothing =
      report_.found == FixCase::kNothing || report_.found == FixCase::kNothingFound;
  if (nothing) return std::move(report_);
  for (const Candidate& candidate : switch_candidates(switches)) try_candidate(candidate);
  for (const Candidate& candidate : graph_candidates(*graph, *lowered_, report_.explanation)) {
    try_candidate(candidate);
  }
  for (const Candidate& candidate : program_candidates(*graph, *lowered_, report_.explanation)) {
    try_candidate(candidate);
  }
  for (const Candidate& candidate : order_candidates(*graph, *lowered_, report_.explanation)) {
    try_candidate(candidate);
  }
  try_pairs();
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
