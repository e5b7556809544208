// Rules about the collective calls of host programs: calls that some ranks omit, the order of the
// calls, and host waits between the calls. lint_messages.cpp has the rules about sends and
// receives.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "models/lowering/missing_call.hpp"

#include "features/lint/lint_rules.hpp"
#include "features/lint/pending_calls.hpp"

namespace pipesim::models {
namespace {

using sim::ActorId;
using sim::CallId;
using sim::CommunicatorId;
using sim::ThreadId;

// ---------------------------------------------------------------------------------------------
// The order of calls

// A collective call on a communicator, as a step of a program.
struct Made {
  std::uint32_t communicator;  // index of the communicator's template
  ThreadId thread;
  CallId call;
  std::uint32_t when;  // position in the program of the thread

  friend bool operator==(const Made& a, const Made& b) { return a.call == b.call; }
};

std::string differences(const sim::Signature& a, const sim::Signature& b) {
  std::string text;
  const auto add = [&](bool differs, const char* what) {
    if (differs) text += (text.empty() ? "" : ", ") + std::string(what);
  };
  add(a.operation != b.operation, "operation");
  add(a.root != b.root, "root");
  add(a.type != b.type, "type");
  add(a.count != b.count, "size");
  return text;
}

class OrderLint : PlanLint {
 public:
  using PlanLint::PlanLint;

  void run() {
    for (const ThreadId id : ids_of(plan_.threads)) read(id);
    for (const CommunicatorId id : ids_of(plan_.communicators)) check_calls(id);
    check_pairs();
  }

 private:
  using Calls = std::vector<Made>;

  void read(ThreadId id);
  void check_calls(CommunicatorId id);
  bool makes(std::uint32_t rank, const Calls& calls) const;
  bool report_branch(std::uint32_t rank, const Calls& calls, std::uint32_t first_rank,
                     const Calls& first);
  void report_calls(std::uint32_t rank, const Calls& calls, std::uint32_t first_rank,
                    const Calls& first);
  void check_pairs();
  void check_pair(std::uint32_t a, std::uint32_t b);
  const Calls* calls_of(std::uint32_t communicator, std::uint32_t rank) const {
    const auto& ranks = calls_[communicator];
    const auto found = ranks.find(rank);
    return found == ranks.end() ? nullptr : &found->second;
  }
  const std::string& name_of(const Made& made) const {
    return names_.name(plan_.calls[made.call].actor);
  }
  Place place(const Made& made) const { return names_.actor(plan_.calls[made.call].actor).place; }
  std::optional<std::size_t> missing_in(const Calls& more, const Calls& fewer) const;
  std::string op(const Calls& calls, std::size_t i) const;

  // Collective calls by communicator and rank, in the order in which each thread makes the calls.
  std::vector<std::map<std::uint32_t, Calls>> calls_;
};

void OrderLint::read(ThreadId id) {
  calls_.resize(plan_.communicators.size());
  const sim::Thread& thread = plan_.threads[id];
  for (std::uint32_t i = thread.program; i < thread.program_end; ++i) {
    const ActorId actor = plan_.op(thread, i);
    if (names_.actor(actor).step && names_.actor(actor).step->implied) continue;
    std::size_t index = 0;
    for (const CallId call_id : plan_.calls_of(actor)) {
      const CallTemplate& from = names_.actor(actor).step->calls[index++];
      const sim::Call& call = plan_.calls[call_id];
      if (call.kind != sim::CallKind::kCollective) continue;
      calls_[call.communicator.value][thread.rank.value].push_back(
          {from.communicator, id, call_id, i - thread.program});
    }
  }
}

// Returns the index of the first call in `more` that `fewer` lacks.
std::optional<std::size_t> OrderLint::missing_in(const Calls& more, const Calls& fewer) const {
  const auto listed = [](const Calls& calls) {
    CallsOfRank result;
    for (const Made& made : calls) result.push_back({made.call, 0});
    return result;
  };
  const auto missing = missing_call(graph_, lowered_, listed(more), listed(fewer));
  return missing ? std::optional(missing->made) : std::nullopt;
}

std::string OrderLint::op(const Calls& calls, std::size_t i) const {
  const auto before =
      std::count(calls.begin(), calls.begin() + static_cast<std::ptrdiff_t>(i), calls[i]);
  return fmt::format("'{}#{}'", name_of(calls[i]), before + 1);
}

// Compares the k-th calls of all ranks, because NCCL pairs calls by their order.
void OrderLint::check_calls(CommunicatorId id) {
  const auto& ranks = calls_[id.value];
  if (ranks.empty()) return;
  const auto& [first_rank, first] = *ranks.begin();
  static const Calls kNone;
  const sim::Communicator& communicator = plan_.communicators[id];
  for (std::uint32_t i = communicator.ranks; i < communicator.ranks_end; ++i) {
    const std::uint32_t rank = plan_.communicator_ranks[i].value;
    const auto found = ranks.find(rank);
    const Calls& calls = found == ranks.end() ? kNone : found->second;
    const auto same = [&](const Made& a, const Made& b) {
      return plan_.calls[a.call].signature == plan_.calls[b.call].signature;
    };
    const bool equal = std::equal(calls.begin(), calls.end(), first.begin(), first.end(), same);
    if (!equal) report_calls(rank, calls, first_rank, first);
  }
}

// Whether `rank` makes calls with the signatures of `calls`, possibly in different steps.
bool OrderLint::makes(std::uint32_t rank, const Calls& calls) const {
  const auto& ranks = calls_[plan_.calls[calls.front().call].communicator.value];
  const auto found = ranks.find(rank);
  return found != ranks.end() &&
         std::equal(calls.begin(), calls.end(), found->second.begin(), found->second.end(),
                    [&](const Made& a, const Made& b) {
                      return plan_.calls[a.call].signature == plan_.calls[b.call].signature;
                    });
}

// Reports the first call that only the rank with more calls makes, if this call is not a step of
// the other rank. Returns whether it reported the call.
bool OrderLint::report_branch(std::uint32_t rank, const Calls& calls, std::uint32_t first_rank,
                              const Calls& first) {
  if (calls.size() == first.size()) return false;
  const bool fewer = calls.size() < first.size();
  const Calls& longer = fewer ? first : calls;
  const Calls& shorter = fewer ? calls : first;
  std::size_t at = 0;
  while (at < shorter.size() &&
         plan_.calls[longer[at].call].signature == plan_.calls[shorter[at].call].signature) {
    ++at;
  }
  const bool differ = at < shorter.size();
  // Calls after the missing call can equal it, so the first difference can be later.
  if (const auto missing = missing_in(longer, shorter)) at = std::min(at, *missing);
  const ActorTemplate& step = names_.actor(plan_.calls[longer[at].call].actor);
  const std::uint32_t without = fewer ? rank : first_rank;
  // The rank with fewer calls can make the same call in its own step.
  const std::uint32_t with = fewer ? first_rank : rank;
  const bool has_own = std::any_of(shorter.begin(), shorter.end(), [&](const Made& made) {
    return plan_.calls[made.call].signature == plan_.calls[longer[at].call].signature &&
           !names_.actor(plan_.calls[made.call].actor).on.contains(with);
  });
  const bool alone = !has_own || differ;
  if (step.on.contains(without) || !alone) return false;
  const Made& made = longer[at];
  const sim::Communicator& communicator = plan_.communicators[plan_.calls[made.call].communicator];
  std::vector<std::uint32_t> never;
  for (std::uint32_t i = communicator.ranks; i < communicator.ranks_end; ++i) {
    const std::uint32_t member = plan_.communicator_ranks[i].value;
    if (!step.on.contains(member) && !makes(member, longer)) never.push_back(member);
  }
  findings_.push_back(
      {.rule = kCollectiveBranch,
       .place = step.place,
       .message = fmt::format("'{}' is never called, a collective of communicator '{}'", step.name,
                              graph_.communicators[made.communicator].name),
       .ops = {step.name},
       .ranks = RankSet(std::move(never)),
       .why = "the ranks that call it wait for those that do not, or get matched with a different "
              "call",
       .advice = "call it on all ranks, with empty data if necessary; or agree on the branch with "
                 "a collective"});
  return true;
}

void OrderLint::report_calls(std::uint32_t rank, const Calls& calls, std::uint32_t first_rank,
                             const Calls& first) {
  if (report_branch(rank, calls, first_rank, first)) return;
  const std::size_t common = std::min(calls.size(), first.size());
  std::size_t at = 0;
  while (at < common &&
         plan_.calls[calls[at].call].signature == plan_.calls[first[at].call].signature) {
    ++at;
  }
  const std::string& name = graph_.communicators[first.front().communicator].name;
  LintFinding finding{.rule = kCollectiveOrder, .place = {}, .message = {}};
  finding.ranks = RankSet({rank});
  finding.advice = "make the same calls in the same order on all ranks of a communicator";
  if (at < common) {
    finding.place = place(calls[at]);
    finding.message = fmt::format(
        "call {} on communicator '{}' is {}, and {} on rank {}, which differ in {}", at + 1, name,
        op(calls, at), op(first, at), first_rank,
        differences(plan_.calls[calls[at].call].signature, plan_.calls[first[at].call].signature));
    finding.ops = {name_of(calls[at])};
    finding.why =
        "calls are matched by order: these two are matched but differ, and neither completes";
  } else {
    const bool fewer = calls.size() < first.size();
    const Calls& longer = fewer ? first : calls;
    const std::size_t last = at;
    if (const auto missing = missing_in(longer, fewer ? calls : first)) at = std::min(at, *missing);
    finding.place = place(longer[at]);
    finding.message = fmt::format("{} calls on communicator '{}', and {} on rank {}", calls.size(),
                                  name, first.size(), first_rank);
    finding.ops = {name_of(longer[at])};
    finding.why = op(longer, last) + " waits for a call that its peers never make";
    if (at != last) {
      finding.why = fmt::format(
          "{} is left out, so that each later call is matched with the one before it, and {}",
          op(longer, at), finding.why);
    }
  }
  findings_.push_back(std::move(finding));
}

// Checks all pairs of communicators with two common ranks.
void OrderLint::check_pairs() {
  std::map<std::uint32_t, std::vector<std::uint32_t>> used;  // by rank: its communicators
  for (std::uint32_t id = 0; id < calls_.size(); ++id) {
    const sim::Communicator& communicator = plan_.communicators[CommunicatorId{id}];
    if (communicator.ranks_end - communicator.ranks < 2) continue;
    for (const auto& [rank, calls] : calls_[id]) used[rank].push_back(id);
  }
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const auto& [rank, communicators] : used) {
    for (std::size_t i = 0; i < communicators.size(); ++i) {
      for (std::size_t j = i + 1; j < communicators.size(); ++j) {
        pairs.insert({communicators[i], communicators[j]});
      }
    }
  }
  for (const auto& [a, b] : pairs) check_pair(a, b);
}

// Checks that all ranks make the calls on `a` and `b` in the same order, as NVIDIA's guide demands:
// calls on one communicator can keep calls on the other from starting.
void OrderLint::check_pair(std::uint32_t a, std::uint32_t b) {
  // Merges the calls of a rank on both communicators. Returns false if the rank calls only one
  // communicator, or calls them from several threads.
  const auto order = [&](std::uint32_t rank, std::vector<Made>& merged) {
    const Calls* of_a = calls_of(a, rank);
    const Calls* of_b = calls_of(b, rank);
    if (of_a == nullptr || of_b == nullptr) return false;
    const ThreadId thread = of_a->front().thread;
    const auto elsewhere = [&](const Made& made) { return made.thread != thread; };
    if (std::any_of(of_a->begin(), of_a->end(), elsewhere)) return false;
    if (std::any_of(of_b->begin(), of_b->end(), elsewhere)) return false;
    merged.clear();
    std::merge(of_a->begin(), of_a->end(), of_b->begin(), of_b->end(), std::back_inserter(merged),
               [](const Made& x, const Made& y) { return x.when < y.when; });
    return true;
  };
  std::vector<Made> first;
  std::uint32_t first_rank = kNoIndex;
  std::vector<Made> calls;
  // Visits only the ranks of the smaller communicator, because only ranks that call both
  // communicators matter.
  const auto& fewer = calls_[a].size() <= calls_[b].size() ? calls_[a] : calls_[b];
  for (const auto& [rank, unused] : fewer) {
    if (!order(rank, calls)) continue;
    if (first_rank == kNoIndex) {
      first_rank = rank;
      first = calls;
      continue;
    }
    // The collective-branch rule reports calls that some rank does not make.
    if (calls.size() != first.size()) continue;
    const auto communicator = [&](const Made& made) { return plan_.calls[made.call].communicator; };
    const auto [here, there] = std::mismatch(
        calls.begin(), calls.end(), first.begin(),
        [&](const Made& x, const Made& y) { return communicator(x) == communicator(y); });
    if (here == calls.end()) continue;
    findings_.push_back(
        {.rule = kGroupOrder,
         .place = place(*here),
         .message = fmt::format("'{}' comes before '{}', and after it on rank {}", name_of(*here),
                                name_of(*there), first_rank),
         .ops = {name_of(*here)},
         .ranks = RankSet({rank}),
         .why =
             "each rank blocks in a different collective first; this works only if both can run at "
             "the "
             "same time: no host waits between them, and devices and launch queues have capacity",
         .advice = "call collectives of several groups in the same order on all ranks"});
  }
}

// ---------------------------------------------------------------------------------------------
// Host waits

// Checks the host waits in the program of one rank. Visits each block once, so that the wait at the
// end of a training step is not a finding.
class HostLint {
 public:
  HostLint(const TaskGraph& graph, std::uint32_t rank, std::vector<LintFinding>& findings)
      : graph_(graph), rank_(rank), findings_(findings) {}

  void do_step(std::uint32_t index);

 private:
  struct Waited {
    std::uint32_t collective;
    std::uint32_t wait;
  };

  void do_calls(std::uint32_t index);
  void do_collective(std::uint32_t index, std::uint32_t group);
  template <typename Waits>
  void wait(std::uint32_t index, Waits waits_for);
  const std::string& name(std::uint32_t actor) const { return graph_.actors[actor].name; }

  const TaskGraph& graph_;
  std::uint32_t rank_;
  std::vector<LintFinding>& findings_;
  PendingCalls pending_;  // by group: its last collective
  // Collectives for which the host has waited since the last collective call of the rank, by group.
  std::map<std::uint32_t, Waited> waited_;
};

template <typename Waits>
void HostLint::wait(std::uint32_t index, Waits waits_for) {
  for (auto pending = pending_.begin(); pending != pending_.end();) {
    if (!waits_for(pending->second)) {
      ++pending;
      continue;
    }
    waited_.insert_or_assign(pending->first, Waited{pending->second.actor, index});
    pending = pending_.erase(pending);
  }
}

void HostLint::do_step(std::uint32_t index) {
  const ActorTemplate& actor = graph_.actors[index];
  if (!actor.on.contains(rank_) || !actor.step) return;
  const StepTemplate& step = *actor.step;
  // Another thread ends all other host waits, possibly after any call of this thread. Such waits
  // count as waits for all pending calls.
  const bool ends_by_calls = step.role == sim::Role::kSynchronize ||
                             (step.role == sim::Role::kAwait && !graph_.events[step.event].shared);
  const bool by_thread = sim::facts(step.role).blocks && !ends_by_calls;
  if (step.role == sim::Role::kCalls) do_calls(index);
  wait(index, [&](const PendingCall& call) { return by_thread || call.is_awaited(step); });
  follow(actor, pending_);
}

// Tracks the calls of a step. A call on the host (gloo) counts as a wait for all earlier
// collectives.
void HostLint::do_calls(std::uint32_t index) {
  std::set<std::uint32_t> groups;
  bool by_host = false;
  for (const CallTemplate& call : graph_.actors[index].step->calls) {
    const CommunicatorTemplate& communicator = graph_.communicators[call.communicator];
    const Group& group = graph_.groups[communicator.group];
    const std::uint32_t list = group.list_of(rank_);
    if (list == kNoIndex || group.lists[list].size() < 2) continue;
    by_host = by_host || communicator.on_host;
    const bool collective = call.kind == sim::CallKind::kCollective;
    if (collective && !communicator.on_host) groups.insert(communicator.group);
  }
  if (by_host) wait(index, [](const PendingCall&) { return true; });
  for (const std::uint32_t group : groups) do_collective(index, group);
}

void HostLint::do_collective(std::uint32_t index, std::uint32_t group) {
  const ActorTemplate& actor = graph_.actors[index];
  // Does not report a host that has also waited for the last collective of `group`: its waits
  // already fix the order of the collectives of both groups.
  if (!waited_.empty() && waited_.count(group) == 0) {
    const Waited& waited = waited_.begin()->second;
    const std::string& before = name(waited.collective);
    findings_.push_back(
        {.rule = kHostSync,
         .place = graph_.actors[waited.wait].place,
         .message =
             fmt::format("the host waits in '{}' between '{}' and '{}', collectives of two groups",
                         name(waited.wait), before, actor.name),
         .ops = {name(waited.wait)},
         .ranks = RankSet({rank_}),
         .why = fmt::format("'{}' is not launched until '{}' is done on all of its ranks: a rank "
                            "that calls '{}' first never reaches '{}'",
                            actor.name, before, actor.name, before),
         .advice = "let streams wait for each other by events, or launch both before the host "
                   "waits"});
  }
  waited_.clear();
  pending_[group] = {index, {actor.stream}, {}};
}

// ---------------------------------------------------------------------------------------------
// Host operations of all members

// Whether the step is a host operation that all ranks of its communicator must make: init, split,
// destroy.
bool is_meeting(const TaskGraph& graph, const ActorTemplate& actor) {
  if (!actor.step) return false;
  const StepTemplate& step = *actor.step;
  if (step.role == sim::Role::kCreate) return true;
  if (step.calls.empty()) return false;
  const CallTemplate& call = step.calls[0];
  if (call.operation == Operation::kDestroy || call.operation == Operation::kFinalize) {
    return graph.destroy_meets && !graph.communicators[call.communicator].on_host;
  }
  return call.operation == Operation::kSplit || call.operation == Operation::kSuspend ||
         call.operation == Operation::kResume;
}

std::uint32_t communicator_of_meeting(const StepTemplate& step) {
  return step.role == sim::Role::kCreate ? step.communicator : step.calls[0].communicator;
}

/// How often each rank executes each meeting, by rank and index of the step.
using Meetings = std::map<std::uint32_t, std::map<std::uint32_t, std::uint64_t>>;

void count_meetings(const TaskGraph& graph, const std::vector<ProgramStep>& steps,
                    std::uint32_t rank, std::uint64_t times, Meetings& meetings) {
  for (const ProgramStep& step : steps) {
    if (step.times == 0 || (step.on && !step.on->contains(rank))) continue;
    const std::uint64_t all = times * static_cast<std::uint64_t>(step.times);
    const auto count = [&](std::uint32_t index) {
      const ActorTemplate& actor = graph.actors[index];
      if (actor.on.contains(rank) && is_meeting(graph, actor)) meetings[rank][index] += all;
    };
    if (step.actor != kNoIndex) count(step.actor);
    for (const std::uint32_t index : step.list) count(index);
    count_meetings(graph, step.block, rank, all, meetings);
  }
}

// Whether `rank` omits the meeting `index`, which `other` executes. Steps that both ranks execute
// match; the others match in order.
bool omits(const TaskGraph& graph, const Meetings& meetings, std::uint32_t index,
           std::uint32_t rank, std::uint32_t other) {
  const StepTemplate& step = *graph.actors[index].step;
  const std::uint32_t communicator = communicator_of_meeting(step);
  // Returns the number of executions of the same operation by `a`, at steps up to `last` that `b`
  // does not execute.
  const auto own = [&](std::uint32_t a, std::uint32_t b, std::uint32_t last) {
    std::uint64_t times = 0;
    const auto of_a = meetings.find(a);
    const auto of_b = meetings.find(b);
    if (of_a == meetings.end()) return times;
    for (const auto& [at, count] : of_a->second) {
      const StepTemplate& it = *graph.actors[at].step;
      const bool is_same = it.role == step.role && communicator_of_meeting(it) == communicator &&
                           (it.calls.empty() || it.calls[0].operation == step.calls[0].operation);
      const bool is_shared = of_b != meetings.end() && of_b->second.count(at) > 0;
      if (at <= last && is_same && !is_shared) times += count;
    }
    return times;
  };
  return own(other, rank, index) > own(rank, other, kNoIndex);
}

// Returns the ranks of the communicator that omit the meeting `index` although other ranks of their
// list execute it.
std::vector<std::uint32_t> ranks_without(const TaskGraph& graph, const Meetings& meetings,
                                         std::uint32_t index) {
  const auto executes = [&](std::uint32_t rank) {
    const auto of_rank = meetings.find(rank);
    return of_rank != meetings.end() && of_rank->second.count(index) > 0;
  };
  std::vector<std::uint32_t> without;
  const std::uint32_t communicator = communicator_of_meeting(*graph.actors[index].step);
  for (const auto& list : graph.groups[graph.communicators[communicator].group].lists) {
    const auto first = std::find_if(list.begin(), list.end(), executes);
    if (first == list.end()) continue;
    for (const std::uint32_t rank : list) {
      if (!executes(rank) && omits(graph, meetings, index, rank, *first)) without.push_back(rank);
    }
  }
  return without;
}

// Whether a rank of `ranks` aborts the communicator.
bool is_aborted(const TaskGraph& graph, std::uint32_t communicator, const RankSet& ranks) {
  return std::any_of(graph.actors.begin(), graph.actors.end(), [&](const ActorTemplate& actor) {
    return actor.step && !actor.step->calls.empty() &&
           actor.step->calls[0].communicator == communicator &&
           actor.step->calls[0].operation == Operation::kAbort && meet(actor.on, ranks);
  });
}

// Checks that all ranks of a communicator execute its meetings.
void lint_meetings(const TaskGraph& graph, const Lowered& lowered,
                   std::vector<LintFinding>& findings) {
  const bool any =
      std::any_of(graph.actors.begin(), graph.actors.end(),
                  [&](const ActorTemplate& actor) { return is_meeting(graph, actor); });
  if (!any) return;
  Meetings meetings;
  for_each_program(graph, lowered,
                   [&](std::uint32_t rank, const std::vector<ProgramStep>& program) {
                     count_meetings(graph, program, rank, 1, meetings);
                   });
  for (std::uint32_t index = 0; index < graph.actors.size(); ++index) {
    const ActorTemplate& actor = graph.actors[index];
    if (!is_meeting(graph, actor)) continue;
    RankSet without(ranks_without(graph, meetings, index));
    if (without.empty()) continue;
    const std::uint32_t communicator = communicator_of_meeting(*actor.step);
    const bool aborted = is_aborted(graph, communicator, without);
    findings.push_back(
        {.rule = kMeeting,
         .place = actor.place,
         .message = fmt::format("'{}' is never called, a meeting of communicator '{}'", actor.name,
                                graph.communicators[communicator].name),
         .ops = {actor.name},
         .ranks = std::move(without),
         .why = aborted ? "it waits for the hosts of all ranks, and these ranks abort the "
                          "communicator instead"
                        : "it synchronizes the hosts of all its ranks, even those that get no new "
                          "communicator",
         .advice = aborted ? "once a rank aborts a communicator, abort it on all ranks"
                           : "call it on all ranks of the communicator, in one order"});
  }
}

}  // namespace

void lint_programs(const TaskGraph& graph, const Lowered& lowered,
                   std::vector<LintFinding>& findings) {
  OrderLint(graph, lowered, findings).run();
  lint_meetings(graph, lowered, findings);
  for_each_program(graph, lowered,
                   [&](std::uint32_t rank, const std::vector<ProgramStep>& program) {
                     HostLint lint(graph, rank, findings);
                     walk(program, rank, [&](std::uint32_t actor) { lint.do_step(actor); });
                   });
}

}  // namespace pipesim::models
