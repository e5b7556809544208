#include "features/reduce/reduce.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "models/graph/graph_edit.hpp"
#include "models/graph/keep_ranks.hpp"
#include "models/result/simulation.hpp"

#include "features/reduce/plain_changes.hpp"

namespace pipesim::models {
namespace {

// Whether the actor is a record or wait that implements the `after` of a step. The implied steps of
// `one_thread` do not count.
bool is_implied_wait(const ActorTemplate& actor) {
  return actor.step && actor.step->implied && actor.step->role != sim::Role::kCalls;
}

// Whether the block is a single step; such a step lists its ranks itself.
bool is_one_step(const ProgramStep& block) {
  return block.actor == kNoIndex && block.list.empty() && block.times == 1 &&
         block.block.size() == 1 && block.block.front().actor != kNoIndex;
}

// Replaces blocks of a single step by the step.
void unwrap_steps(std::vector<ProgramStep>& steps) {
  for (ProgramStep& step : steps) {
    if (is_one_step(step)) step = ProgramStep(step.block.front());
  }
}

// Replaces blocks that all of `ranks` run once by their steps, and drops empty blocks.
void flatten_blocks(std::vector<ProgramStep>& steps, const RankSet& ranks) {
  std::vector<ProgramStep> flat;
  for (ProgramStep& step : steps) {
    const RankSet inner = step.on ? both(*step.on, ranks) : ranks;
    flatten_blocks(step.block, inner);
    unwrap_steps(step.block);
    const bool is_once = step.actor == kNoIndex && step.times == 1 && inner == ranks;
    if (is_once) {
      for (const std::uint32_t actor : step.list) flat.emplace_back().actor = actor;
      std::move(step.block.begin(), step.block.end(), std::back_inserter(flat));
    } else if (step.actor != kNoIndex || !step.list.empty() || !step.block.empty()) {
      flat.push_back(std::move(step));
    }
  }
  steps = std::move(flat);
}

// Merges the program of each thread into one block, unless the thread has separate programs for
// some ranks.
void gather_programs(TaskGraph& graph) {
  for (HostThread& thread : graph.threads) {
    std::vector<ProgramStep>& steps = thread.program;
    const bool apart = std::all_of(steps.begin(), steps.end(), [](const ProgramStep& step) {
      return step.actor == kNoIndex && step.times == 1;
    });
    if (apart || std::any_of(steps.begin(), steps.end(), [&](const ProgramStep& step) {
          return step.actor != kNoIndex && !graph.actors[step.actor].step;
        })) {
      continue;
    }
    ProgramStep all;
    all.block = std::move(steps);
    unwrap_steps(all.block);
    steps = {std::move(all)};
  }
}

// Returns all ranks that occur in actors or groups.
std::set<std::uint32_t> ranks_of(const TaskGraph& graph) {
  std::set<std::uint32_t> ranks;
  for (const ActorTemplate& actor : graph.actors) ranks.insert(actor.on.begin(), actor.on.end());
  for (const Group& group : graph.groups) {
    for (const auto& list : group.lists) ranks.insert(list.begin(), list.end());
  }
  return ranks;
}

JobSize size_of(const TaskGraph& graph, const Lowered& lowered) {
  return {ranks_of(graph).size(), graph.actors.size(), lowered.plan.op_count};
}

// Visits op counts and, if `capacities` is set, also capacities: slots, queue lengths and the like.
template <typename Visit>
void for_each_count(TaskGraph& graph, bool capacities, const Visit& visit) {
  for (ActorTemplate& actor : graph.actors) {
    if (actor.ops) visit(*actor.ops);
    actor.times.update(visit);
    for (RegisterTemplate& reg : actor.registers) {
      reg.drain_every.update(visit);
      if (capacities) visit(reg.slots);
    }
  }
  if (!capacities) return;
  visit(graph.launch_queue);
  if (graph.device.launch_queue != Expr()) visit(graph.device.launch_queue);
  for (StreamTemplate& stream : graph.streams) visit(stream.launch_queue);
}

template <typename Visit>
void for_each_loop(std::vector<ProgramStep>& steps, const Visit& visit) {
  for (ProgramStep& step : steps) {
    visit(step.times);
    for_each_loop(step.block, visit);
  }
}

template <typename Visit>
void for_each_loop(TaskGraph& graph, const Visit& visit) {
  for (HostThread& thread : graph.threads) for_each_loop(thread.program, visit);
}

// Returns the op counts and loop counts above 1.
std::set<std::int64_t> counts_in(TaskGraph graph) {
  std::set<std::int64_t> counts;
  const auto add = [&](std::int64_t count) {
    if (count > 1) counts.insert(count);
  };
  for_each_count(graph, false, [&](const Expr& expr) {
    if (expr.is_constant()) add(expr.value(0).value_or(0));
  });
  for_each_loop(graph, [&](std::int64_t times) { add(times); });
  return counts;
}

// Replaces each count that equals `count` by `other`.
void replace_count(TaskGraph& graph, std::int64_t count, std::int64_t other, bool capacities) {
  for_each_count(graph, capacities, [&](Expr& expr) {
    if (expr.is_constant() && expr.value(0) == count) expr = Expr::constant(other);
  });
  for_each_loop(graph, [&](std::int64_t& times) {
    if (times == count) times = other;
  });
  if (graph.micro_batches == count) graph.micro_batches = other;
}

// Tries to drop runs of neighbors among `n` parts: first half of the parts at a time, then ever
// shorter runs. Each pass goes from the last part to the first. A run is dropped if `attempt`
// returns true; `attempt` gets true for each part that stays.
template <typename Attempt>
void drop_parts(std::size_t n, Attempt attempt) {
  std::vector<bool> keep(n, true);
  // Makes one pass over the remaining parts, `run` at a time. Returns whether any part was dropped.
  const auto pass = [&](std::size_t run) {
    bool dropped = false;
    for (std::size_t end = n; end > 0;) {
      std::vector<bool> less = keep;
      std::size_t count = 0;
      while (end > 0 && count < run) {
        --end;
        if (less[end]) ++count;
        less[end] = false;
      }
      if (count == 0 || !attempt(less)) continue;
      keep = std::move(less);
      dropped = true;
    }
    return dropped;
  };
  for (std::size_t run = (n + 1) / 2; run > 1; run = (run + 1) / 2) pass(run);
  while (n > 0 && pass(1)) {
  }
}

// Returns the smallest number in [least, value] that `attempt` allows, found by bisection.
// `attempt` must allow `value`, and all numbers above an allowed number. Each successful attempt
// has a smaller number than the previous one.
template <typename Attempt>
std::int64_t smallest(std::int64_t least, std::int64_t value, Attempt attempt) {
  if (value <= least || attempt(least)) return std::min(least, value);
  std::int64_t too_small = least;
  while (value - too_small > 1) {
    const std::int64_t middle = too_small + (value - too_small) / 2;
    (attempt(middle) ? value : too_small) = middle;
  }
  return value;
}

// Prefix of the placeholder for a step without a line in the user's program. The placeholder
// contains the step's line in the scenario, because a hang at other lines counts as another hang.
constexpr std::string_view kLineMark = "\x01";

void mark_lines(TaskGraph& graph) {
  for (ActorTemplate& actor : graph.actors) {
    if (!actor.step || !actor.step->at.empty() || actor.place.line == 0) continue;
    actor.step->at = std::string(kLineMark) + std::to_string(actor.place.file) + ":" +
                     std::to_string(actor.place.line);
  }
}

// Removes the placeholders. Returns whether any step had a placeholder.
bool unmark_lines(TaskGraph& graph) {
  bool any = false;
  for (ActorTemplate& actor : graph.actors) {
    if (!actor.step || !actor.step->at.starts_with(kLineMark)) continue;
    actor.step->at.clear();
    any = true;
  }
  return any;
}

class Reducer {
 public:
  Reducer(const GraphOf& graph_of, const ReduceOptions& options)
      : graph_of_(graph_of), options_(options) {}

  // Runs the unchanged job. Returns false if the run was interrupted or, with an error, if the job
  // is invalid or does not hang.
  bool begin(TaskGraph graph, Diagnostics& diagnostics);
  void shrink_parameters(const std::vector<formats::Parameter>& parameters);
  void shrink_graph();
  void shrink_layers();
  // Writes the job as a scenario, reads the scenario back, and keeps the job that results.
  bool finish(const ReadBack& read_back, Diagnostics& diagnostics);
  Reduction take() { return std::move(result_); }

 private:
  struct Run {
    JobSize size;
    HangSignature hang;
    Explanation explanation;
  };

  static constexpr std::uint64_t kAnyOps = std::numeric_limits<std::uint64_t>::max();

  bool may_go_on();
  Run run(const TaskGraph& graph, Lowered lowered);
  std::optional<Run> run_alike(const TaskGraph& graph, std::uint64_t max_ops = kAnyOps);
  bool accept(TaskGraph candidate, std::uint64_t max_ops = kAnyOps);
  bool try_value(const std::string& name, std::int64_t value);

  template <typename TakeOut>
  void drop(std::size_t n, TakeOut take_out);
  template <typename Parts, typename TakeOut>
  void drop_each(const Parts& parts, TakeOut take_out);
  void drop_ranks();
  void drop_actors();
  void drop_threads_and_streams();
  void drop_messages();
  std::vector<std::uint32_t> actors_that_pass_on() const;
  void bypass_actors();
  void bypass_runs();
  void drop_implied_waits();
  void drop_reads();
  void drop_registers();
  void shrink_counts();
  void drop_rules();
  void drop_faults();
  void drop_times();
  void drop_unused();

  const GraphOf& graph_of_;
  const ReduceOptions& options_;
  std::uint64_t ops_run_ = 0;
  // Whether finish() has begun; the runs of finish() ignore an interruption.
  bool finishing_ = false;
  Reduction result_;
};

bool Reducer::may_go_on() {
  if (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed)) {
    result_.stopped = true;
  }
  if (ops_run_ > options_.max_ops) result_.out_of_budget = true;
  return !result_.stopped && !result_.out_of_budget;
}

Reducer::Run Reducer::run(const TaskGraph& graph, Lowered lowered) {
  sim::RunOptions options;
  if (!finishing_) options.stop = options_.stop;
  ops_run_ += lowered.plan.op_count;
  ++result_.runs;
  if (options_.runs != nullptr) ++*options_.runs;
  const Simulation simulation = simulate(graph, std::move(lowered), options);
  return Run{size_of(graph, simulation.lowered),
             hang_signature(graph, simulation.lowered, simulation.explanation, result_.layers),
             simulation.explanation};
}

// Runs the job. Returns the run if its hang equals the hang to keep. Rejects jobs with more than
// `max_ops` ops without running them.
std::optional<Reducer::Run> Reducer::run_alike(const TaskGraph& graph, std::uint64_t max_ops) {
  Diagnostics unheard;
  auto lowered = lower(graph, unheard);
  if (!lowered || lowered->plan.op_count > max_ops) return std::nullopt;
  Run found = run(graph, std::move(*lowered));
  if (!(found.hang == result_.hang)) return std::nullopt;
  return found;
}

bool Reducer::accept(TaskGraph candidate, std::uint64_t max_ops) {
  if (!may_go_on()) return false;
  std::optional<Run> run = run_alike(candidate, max_ops);
  if (!run) return false;
  result_.graph = std::move(candidate);
  result_.after = run->size;
  result_.explanation = std::move(run->explanation);
  return true;
}

bool Reducer::begin(TaskGraph graph, Diagnostics& diagnostics) {
  mark_lines(graph);
  auto lowered = lower(graph, diagnostics);
  if (!lowered) return false;
  Run run = this->run(graph, std::move(*lowered));
  if (!run.hang.hangs()) {
    // An interrupted run also does not hang, but the user knows about the interruption.
    if (options_.stop == nullptr || !options_.stop->load()) {
      diagnostics.error({}, Code::kCannotReduce,
                        "the scenario does not hang; reduce needs one that does");
    }
    return false;
  }
  result_.before = result_.after = run.size;
  result_.hang = std::move(run.hang);
  result_.explanation = std::move(run.explanation);
  result_.graph = std::move(graph);
  return true;
}

// Tries another value of a parameter. Keeps the value only if the job shrinks.
bool Reducer::try_value(const std::string& name, std::int64_t value) {
  if (!may_go_on()) return false;
  ParameterValues values = result_.parameters;
  const auto known = std::find_if(values.begin(), values.end(),
                                  [&](const auto& given) { return given.first == name; });
  if (known != values.end()) {
    known->second = std::to_string(value);
  } else {
    values.emplace_back(name, std::to_string(value));
  }
  auto graph = graph_of_(values);
  if (!graph) return false;
  mark_lines(*graph);
  if (result_.after.ops == 0 || !accept(std::move(*graph), result_.after.ops - 1)) return false;
  result_.parameters = std::move(values);
  return true;
}

void Reducer::shrink_parameters(const std::vector<formats::Parameter>& parameters) {
  std::map<std::string, std::int64_t> values;
  for (const formats::Parameter& it : parameters) {
    if (it.value.type != formats::ValueType::kNumber) continue;
    if (const auto number = it.value.expr.value(0)) values[it.name] = *number;
  }
  for (bool again = true; again;) {
    again = false;
    for (const formats::Parameter& it : parameters) {
      const auto known = values.find(it.name);
      if (known == values.end()) continue;
      std::int64_t& value = known->second;
      const std::int64_t least = it.at_least.value_or(0);
      const std::int64_t found =
          smallest(least, value, [&](std::int64_t other) { return try_value(it.name, other); });
      again = again || found < value;
      value = found;
    }
  }
}

// Tries to drop some of `n` parts. `take_out(graph, keep)` removes all parts except the kept ones.
template <typename TakeOut>
void Reducer::drop(std::size_t n, TakeOut take_out) {
  const TaskGraph base = result_.graph;
  drop_parts(n, [&](const std::vector<bool>& keep) {
    if (!may_go_on()) return false;
    TaskGraph candidate = base;
    take_out(candidate, keep);
    return accept(std::move(candidate));
  });
}

// Tries to drop each of `parts`. `take_out(graph, part)` removes one part.
template <typename Parts, typename TakeOut>
void Reducer::drop_each(const Parts& parts, TakeOut take_out) {
  drop(parts.size(), [&](TaskGraph& graph, const std::vector<bool>& keep) {
    for (std::size_t i = parts.size(); i-- > 0;) {
      if (!keep[i]) take_out(graph, parts[i]);
    }
  });
}

void Reducer::drop_ranks() {
  const std::set<std::uint32_t> ranks = ranks_of(result_.graph);
  const std::vector<std::uint32_t> all(ranks.begin(), ranks.end());
  drop(all.size(), [&](TaskGraph& graph, const std::vector<bool>& keep) {
    std::vector<std::uint32_t> kept;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (keep[i]) kept.push_back(all[i]);
    }
    keep_ranks(graph, RankSet(std::move(kept)));
  });
}

void Reducer::drop_actors() {
  // An implied wait is in the same part as its step.
  std::vector<std::vector<std::uint32_t>> parts(1);
  for (std::uint32_t i = 0; i < result_.graph.actors.size(); ++i) {
    parts.back().push_back(i);
    if (!is_implied_wait(result_.graph.actors[i])) parts.emplace_back();
  }
  if (parts.back().empty()) parts.pop_back();
  drop(parts.size(), [&](TaskGraph& graph, const std::vector<bool>& keep) {
    std::vector<bool> stays(graph.actors.size(), true);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      for (const std::uint32_t actor : parts[i]) stays[actor] = keep[i];
    }
    keep_actors(graph, stays);
  });
}

// Tries to drop all actors of each thread, stream, communicator, event and lock, one at a time.
void Reducer::drop_threads_and_streams() {
  using Uses = bool (*)(const ActorTemplate&, std::uint32_t);
  const auto drop_users = [&](std::size_t count, Uses uses) {
    for (std::uint32_t i = 0; i < count; ++i) {
      TaskGraph candidate = result_.graph;
      std::vector<bool> keep;
      for (const ActorTemplate& actor : candidate.actors) keep.push_back(!uses(actor, i));
      if (std::find(keep.begin(), keep.end(), false) == keep.end()) continue;
      keep_actors(candidate, keep);
      accept(std::move(candidate));
    }
  };
  drop_users(result_.graph.threads.size(),
             [](const ActorTemplate& actor, std::uint32_t i) { return actor.thread == i; });
  drop_users(result_.graph.streams.size(),
             [](const ActorTemplate& actor, std::uint32_t i) { return actor.stream == i; });
  drop_users(result_.graph.communicators.size(), [](const ActorTemplate& actor, std::uint32_t i) {
    return actor.step && std::any_of(actor.step->calls.begin(), actor.step->calls.end(),
                                     [i](const CallTemplate& c) { return c.communicator == i; });
  });
  drop_users(result_.graph.events.size(), [](const ActorTemplate& actor, std::uint32_t i) {
    return actor.step && actor.step->event == i;
  });
  drop_users(result_.graph.locks.size(), [](const ActorTemplate& actor, std::uint32_t i) {
    return actor.step && actor.step->lock == i;
  });
}

// Tries to drop each send together with a recv on the same communicator.
void Reducer::drop_messages() {
  constexpr std::size_t kMaxPairs = 2000;
  const auto is_call = [](const ActorTemplate& actor, Operation operation) {
    return actor.step && actor.step->calls.size() == 1 &&
           actor.step->calls.front().operation == operation;
  };
  std::size_t tried = 0;
  for (std::uint32_t send = 0; send < result_.graph.actors.size(); ++send) {
    if (!is_call(result_.graph.actors[send], Operation::kSend)) continue;
    for (std::uint32_t recv = 0; recv < result_.graph.actors.size(); ++recv) {
      if (!is_call(result_.graph.actors[recv], Operation::kReceive)) continue;
      const CallTemplate& from = result_.graph.actors[send].step->calls.front();
      const CallTemplate& to = result_.graph.actors[recv].step->calls.front();
      if (from.communicator != to.communicator || ++tried > kMaxPairs) continue;
      TaskGraph candidate = result_.graph;
      std::vector<bool> keep(candidate.actors.size(), true);
      keep[send] = keep[recv] = false;
      keep_actors(candidate, keep);
      if (!accept(std::move(candidate))) continue;
      --send;  // the next actor moved to this index
      break;
    }
  }
}

void Reducer::drop_reads() {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> parts;
  for (std::uint32_t i = 0; i < result_.graph.actors.size(); ++i) {
    const ActorTemplate& actor = result_.graph.actors[i];
    for (std::uint32_t read = 0; read < actor.reads.size(); ++read) parts.emplace_back(i, read);
  }
  drop_each(parts, [](TaskGraph& graph, const auto& part) {
    auto& reads = graph.actors[part.first].reads;
    reads.erase(reads.begin() + part.second);
  });
}

// Removes an actor between other actors. Its readers then read its source.
void bypass(TaskGraph& graph, std::uint32_t index) {
  const ReadTemplate source = graph.actors[index].reads.front();
  for_each_read_of(graph, index, [&](std::uint32_t reader, ReadTemplate& read) {
    // A read can cross ranks only once.
    const bool both_far =
        (source.rank || source.group != kNoIndex) && (read.rank || read.group != kNoIndex);
    if (reader == index || both_far) return;
    if (!read.rank && read.group == kNoIndex) {
      read.rank = source.rank;
      read.group = source.group;
    }
    read.actor = source.actor;
    read.reg = source.reg;
    read.needs.reset();
  });
  std::vector<bool> keep(graph.actors.size(), true);
  keep[index] = false;
  keep_actors(graph, keep);
}

std::vector<std::uint32_t> Reducer::actors_that_pass_on() const {
  std::vector<std::uint32_t> actors;
  for (std::uint32_t i = 0; i < result_.graph.actors.size(); ++i) {
    const ActorTemplate& actor = result_.graph.actors[i];
    if (!actor.step && !actor.reads.empty()) actors.push_back(i);
  }
  return actors;
}

void Reducer::bypass_actors() { drop_each(actors_that_pass_on(), bypass); }

// Tries to bypass each run of neighboring actors, long runs first, because the ops of a layer can
// only be dropped together.
void Reducer::bypass_runs() {
  constexpr std::size_t kMaxActors = 100;
  std::vector<std::uint32_t> actors = actors_that_pass_on();
  if (actors.size() > kMaxActors) return;
  for (std::size_t size = actors.size() / 2; size > 0; --size) {
    for (std::size_t first = 0; first + size <= actors.size() && may_go_on();) {
      TaskGraph candidate = result_.graph;
      for (std::size_t i = first + size; i-- > first;) bypass(candidate, actors[i]);
      if (accept(std::move(candidate))) {
        actors = actors_that_pass_on();
      } else {
        ++first;
      }
    }
  }
}

// Reduces the job again if it is still longer than a screen. In this second reduction, equal waits
// of several layers count once.
void Reducer::shrink_layers() {
  constexpr std::size_t kScreen = 20;
  if (result_.graph.actors.size() <= kScreen || !may_go_on()) return;
  result_.layers = Layers::kOnce;
  Diagnostics unheard;
  auto lowered = lower(result_.graph, unheard);
  if (!lowered) return;
  result_.hang = run(result_.graph, std::move(*lowered)).hang;
  bypass_runs();
  shrink_graph();
}

void Reducer::drop_registers() {
  TaskGraph candidate = result_.graph;
  drop_registers_without_readers(candidate);
  if (candidate != result_.graph) accept(std::move(candidate));
}

// Shrinks op counts. Equal counts change together, because they probably have a common cause, such
// as the number of micro-batches.
void Reducer::shrink_counts() {
  for (bool again = true; again && may_go_on();) {
    again = false;
    const TaskGraph base = result_.graph;
    const std::set<std::int64_t> counts = counts_in(base);
    const auto try_count = [&](std::int64_t count, std::int64_t other, bool capacities) {
      TaskGraph candidate = base;
      replace_count(candidate, count, other, capacities);
      return accept(std::move(candidate));
    };
    for (auto count = counts.rbegin(); count != counts.rend() && !again; ++count) {
      for (const bool capacities : {false, true}) {
        if (again) break;
        again = smallest(1, *count, [&](std::int64_t other) {
                  return try_count(*count, other, capacities);
                }) < *count;
      }
    }
  }
}

// Tries to drop job-wide rules and details.
void Reducer::drop_rules() {
  for (const auto& change : plain_changes(result_.graph)) {
    TaskGraph candidate = result_.graph;
    change(candidate);
    if (candidate != result_.graph) accept(std::move(candidate));
  }
}

// Tries to drop waits between streams that implement the `after` of a step.
void Reducer::drop_implied_waits() {
  std::set<std::uint32_t> events;
  for (const ActorTemplate& actor : result_.graph.actors) {
    if (is_implied_wait(actor)) events.insert(actor.step->event);
  }
  const std::vector<std::uint32_t> parts(events.begin(), events.end());
  drop(parts.size(), [&](TaskGraph& graph, const std::vector<bool>& keep) {
    std::vector<bool> stays(graph.actors.size(), true);
    for (std::size_t i = 0; i < graph.actors.size(); ++i) {
      const ActorTemplate& actor = graph.actors[i];
      if (!is_implied_wait(actor)) continue;
      const auto part = std::lower_bound(parts.begin(), parts.end(), actor.step->event);
      stays[i] = keep[static_cast<std::size_t>(part - parts.begin())];
    }
    keep_actors(graph, stays);
  });
}

void Reducer::drop_faults() {
  const auto drop_all = [&](auto member) {
    std::vector<std::size_t> parts((result_.graph.faults.*member).size());
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = i;
    drop_each(parts, [member](TaskGraph& graph, std::size_t part) {
      auto& items = graph.faults.*member;
      items.erase(items.begin() + static_cast<std::ptrdiff_t>(part));
    });
  };
  drop_all(&Faults::ranks);
  drop_all(&Faults::links);
  drop_all(&Faults::ports);
  drop_all(&Faults::denied);
}

// Tries to drop durations.
void Reducer::drop_times() {
  const auto drop_those = [&](const auto& has, const auto& take) {
    std::vector<std::uint32_t> timed;
    for (std::uint32_t i = 0; i < result_.graph.actors.size(); ++i) {
      if (has(result_.graph.actors[i])) timed.push_back(i);
    }
    drop_each(timed, [&](TaskGraph& graph, std::uint32_t index) { take(graph.actors[index]); });
  };
  drop_those([](const ActorTemplate& actor) { return actor.launch_overhead != Expr(); },
             [](ActorTemplate& actor) { actor.launch_overhead = Expr(); });
  drop_those(
      [](const ActorTemplate& actor) {
        return actor.takes != Expr() ||
               (actor.step &&
                std::any_of(actor.step->calls.begin(), actor.step->calls.end(),
                            [](const CallTemplate& call) { return call.takes != Expr(); }));
      },
      [](ActorTemplate& actor) {
        actor.takes = Expr();
        if (!actor.step) return;
        for (CallTemplate& call : actor.step->calls) call.takes = Expr();
      });
}

// Tries to drop everything that is no longer referenced.
void Reducer::drop_unused() {
  TaskGraph candidate = result_.graph;
  const std::set<std::uint32_t> of_ranks = ranks_of(candidate);
  const RankSet ranks(std::vector<std::uint32_t>(of_ranks.begin(), of_ranks.end()));
  for (HostThread& thread : candidate.threads) flatten_blocks(thread.program, ranks);
  for (const To to : {To::kCommunicator, To::kGroup, To::kEvent, To::kLock, To::kPhase, To::kStream,
                      To::kThread}) {
    models::drop_unused(candidate, to);
  }
  if (candidate != result_.graph) accept(std::move(candidate));
}

void Reducer::shrink_graph() {
  // Replaces the schedule by the programs that it generates.
  TaskGraph plain = without_places(result_.graph);
  plain.pipeline.reset();
  if (!accept(std::move(plain))) return;
  // Repeats the passes, because each removal can make further parts superfluous.
  for (JobSize size; size != result_.after && may_go_on();) {
    size = result_.after;
    drop_unused();
    drop_ranks();
    drop_threads_and_streams();
    drop_actors();
    drop_implied_waits();
    bypass_actors();
    drop_messages();
    shrink_counts();
    drop_reads();
    drop_registers();
    drop_rules();
    drop_faults();
    drop_times();
  }
  drop_unused();
}

bool Reducer::finish(const ReadBack& read_back, Diagnostics& diagnostics) {
  finishing_ = true;
  const std::set<std::uint32_t> ranks = ranks_of(result_.graph);
  const RankSet kept(std::vector<std::uint32_t>(ranks.begin(), ranks.end()));
  // The written scenario has other line numbers, so the placeholders would not match.
  if (unmark_lines(result_.graph)) {
    auto lowered = lower(result_.graph, diagnostics);
    if (!lowered) return false;
    result_.hang = run(result_.graph, std::move(*lowered)).hang;
  }
  TaskGraph gathered = result_.graph;
  gather_programs(gathered);
  std::vector<TaskGraph> forms;
  if (auto renumbered = renumbered_ranks(gathered, kept)) forms.push_back(std::move(*renumbered));
  forms.push_back(std::move(gathered));
  for (const TaskGraph& form : forms) {
    for (const bool brief : {true, false}) {
      auto written = read_back(form, brief);
      std::optional<Run> run = written ? run_alike(written->graph) : std::nullopt;
      if (!run) continue;
      result_.text = std::move(written->text);
      result_.graph = std::move(written->graph);
      result_.after = run->size;
      result_.explanation = std::move(run->explanation);
      return true;
    }
  }
  diagnostics.error({}, Code::kCannotReduce,
                    "this cannot be written as a scenario that hangs in the same way");
  return false;
}

}  // namespace

std::optional<Reduction> reduce(TaskGraph graph, const std::vector<formats::Parameter>& parameters,
                                const GraphOf& graph_of, const ReadBack& read_back,
                                const ReduceOptions& options, Diagnostics& diagnostics) {
  Reducer reducer(graph_of, options);
  if (!reducer.begin(std::move(graph), diagnostics)) return std::nullopt;
  reducer.shrink_parameters(parameters);
  reducer.shrink_graph();
  reducer.shrink_layers();
  if (!reducer.finish(read_back, diagnostics)) return std::nullopt;
  return reducer.take();
}

}  // namespace pipesim::models
