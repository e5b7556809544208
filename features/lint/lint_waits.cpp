// Rules about calls on two communicators: host waits between the calls, unordered threads, and
// names.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "models/graph/by_name.hpp"

#include "features/lint/lint_rules.hpp"
#include "features/lint/pending_calls.hpp"

namespace pipesim::models {
namespace {

using sim::ActorId;
using sim::CallId;
using sim::CallKind;
using sim::CommunicatorId;
using sim::ThreadId;

constexpr std::size_t kMaxWaitsOfRank = 64;  // maximum number of host waits kept per rank

// A send that may not be done yet.
struct OpenSend {
  ActorId actor;
  CommunicatorId communicator;
  std::uint32_t peer = 0;    // rank of the receiver
  std::uint32_t number = 0;  // number among the sends to this rank on this communicator, from 1
  PendingCall call;
};

using Direction = std::pair<std::uint32_t, CommunicatorId>;  // sender's rank and communicator

// A wait of the host for the end of a send.
struct HostWait {
  ActorId wait;
  OpenSend send;
  std::map<Direction, std::uint32_t> receives;  // number of recvs called before the wait
};

class WaitLint : PlanLint {
 public:
  using PlanLint::PlanLint;

  void run() {
    for (const ThreadId id : ids_of(plan_.threads)) read(id);
    for (const auto& [rank, waits] : waits_) {
      for (const HostWait& wait : waits) check_sends(rank, wait);
    }
    for (const auto& [rank, calls] : calls_) check_threads(calls);
  }

 private:
  // A call that waits for peers on a device stream: the first of its thread, communicator and
  // stream.
  struct Launched {
    ThreadId thread;
    ActorId actor;
    CommunicatorId communicator;
  };
  struct RankCalls {
    std::vector<std::uint32_t> streams;  // union-find over stream templates that have an order
    std::map<std::uint32_t, std::uint32_t> recorded;  // by event: first stream that records it
    std::vector<Launched> calls;
    std::set<ThreadId> ordered;  // threads that take locks or await events
  };

  void read(ThreadId id);
  void connect_streams(ActorId actor, RankCalls& of);
  void do_calls(ActorId actor, RankCalls& of, ThreadId thread);
  void do_host_wait(ActorId actor);
  void check_threads(const RankCalls& of);
  bool on_one_device(ActorId a, ActorId b) const;
  void report_threads(const Launched& first, const Launched& second);
  void check_sends(std::uint32_t rank, const HostWait& wait);
  bool share_two_ranks(CommunicatorId a, CommunicatorId b) const;
  static std::uint32_t root_of(const std::vector<std::uint32_t>& roots, std::uint32_t stream) {
    while (roots[stream] != stream) stream = roots[stream];
    return stream;
  }
  static void connect(std::vector<std::uint32_t>& roots, std::uint32_t a, std::uint32_t b) {
    if (a != kNoIndex && b != kNoIndex) roots[root_of(roots, a)] = root_of(roots, b);
  }

  std::map<std::uint32_t, std::vector<HostWait>> waits_;  // by rank
  std::map<std::uint32_t, RankCalls> calls_;              // by rank
  // State of the thread that is being read:
  std::uint32_t rank_ = 0;
  std::vector<OpenSend> sends_;
  std::map<Direction, std::uint32_t> sent_;
  std::map<Direction, std::uint32_t> received_;
};

void WaitLint::read(ThreadId id) {
  const sim::Thread& thread = plan_.threads[id];
  rank_ = thread.rank.value;
  sends_.clear();
  sent_.clear();
  received_.clear();
  const std::uint32_t end = std::min(thread.program_end, thread.program + kMaxOpsOfThread);
  RankCalls& of = calls_[rank_];
  if (of.streams.empty()) {
    of.streams.resize(graph_.streams.size());
    std::iota(of.streams.begin(), of.streams.end(), 0U);
  }
  for (std::uint32_t i = thread.program; i < end; ++i) {
    const ActorId actor = plan_.op(thread, i);
    const ActorTemplate& step = names_.actor(actor);
    connect_streams(actor, of);
    if (!step.step) continue;
    switch (step.step->role) {
      case sim::Role::kCalls:
        do_calls(actor, of, id);
        break;
      case sim::Role::kRecord:
      case sim::Role::kWait:
        for (OpenSend& send : sends_) send.call.follow(step);
        break;
      case sim::Role::kSynchronize:
        do_host_wait(actor);
        break;
      default:
        if (!sim::facts(step.step->role).blocks) break;
        of.ordered.insert(id);
        do_host_wait(actor);
    }
  }
}

// Joins two streams if one waits for the other at some point. Other rules check the direction of
// such waits.
void WaitLint::connect_streams(ActorId actor, RankCalls& of) {
  const ActorTemplate& step = names_.actor(actor);
  connect(of.streams, step.stream, step.behind);
  for (const AfterTemplate& after : step.after) {
    connect(of.streams, step.stream, graph_.actors[after.actor].stream);
  }
  if (!step.step || step.step->event == kNoIndex || step.stream == kNoIndex) return;
  const auto [known, is_new] = of.recorded.try_emplace(step.step->event, step.stream);
  if (!is_new) connect(of.streams, step.stream, known->second);
}

void WaitLint::do_calls(ActorId actor, RankCalls& of, ThreadId thread) {
  const ActorTemplate& step = names_.actor(actor);
  if (step.stream == kNoIndex || graph_.streams[step.stream].on_host) return do_host_wait(actor);
  for (OpenSend& send : sends_) send.call.follow(step);
  const std::vector<OpenSend> before = std::move(sends_);
  sends_.clear();
  for (const CallId id : plan_.calls_of(actor)) {
    const sim::Call& call = plan_.calls[id];
    const sim::Communicator& communicator = plan_.communicators[call.communicator];
    if (communicator.ranks_end - communicator.ranks < 2) continue;
    const bool known = std::any_of(of.calls.begin(), of.calls.end(), [&](const Launched& earlier) {
      return earlier.thread == thread && earlier.communicator == call.communicator &&
             names_.actor(earlier.actor).stream == step.stream;
    });
    if (!known) of.calls.push_back({thread, actor, call.communicator});
    if (call.kind == CallKind::kCollective || call.from_any()) continue;
    const std::uint32_t peer = plan_.communicator_ranks[call.peer].value;
    const Direction direction{peer, call.communicator};
    if (call.kind == CallKind::kSend && call.buffered && !communicator.on_host) {
      ++sent_[direction];  // one-sided: it waits for no recv
    } else if (call.kind == CallKind::kSend) {
      sends_.push_back(
          {actor, call.communicator, peer, ++sent_[direction], {.streams = {step.stream}}});
    } else {
      ++received_[direction];
    }
  }
  sends_.insert(sends_.begin(), before.begin(), before.end());
}

void WaitLint::do_host_wait(ActorId actor) {
  const StepTemplate& step = *names_.actor(actor).step;
  const auto is_waited_for = [&](const OpenSend& send) { return send.call.is_awaited(step); };
  std::vector<HostWait>& waits = waits_[rank_];
  for (const OpenSend& send : sends_) {
    if (!is_waited_for(send) || waits.size() == kMaxWaitsOfRank) continue;
    waits.push_back({actor, send, received_});
  }
  std::erase_if(sends_, is_waited_for);
}

bool WaitLint::share_two_ranks(CommunicatorId a, CommunicatorId b) const {
  const sim::Communicator& of_b = plan_.communicators[b];
  const sim::Communicator& of_a = plan_.communicators[a];
  std::set<std::uint32_t> ranks;
  for (std::uint32_t i = of_a.ranks; i < of_a.ranks_end; ++i) {
    ranks.insert(plan_.communicator_ranks[i].value);
  }
  std::size_t shared = 0;
  for (std::uint32_t i = of_b.ranks; i < of_b.ranks_end && shared < 2; ++i) {
    shared += ranks.count(plan_.communicator_ranks[i].value);
  }
  return shared >= 2;
}

// Reports calls of two host threads that can launch in any order. Two threads that both take locks
// or await events are assumed to agree on an order.
void WaitLint::check_threads(const RankCalls& of) {
  for (std::size_t i = 0; i < of.calls.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Launched& first = of.calls[j];
      const Launched& second = of.calls[i];
      const bool apart = first.thread != second.thread && first.communicator != second.communicator;
      if (!apart || of.ordered.count(first.thread) + of.ordered.count(second.thread) > 1) continue;
      if (!on_one_device(first.actor, second.actor)) continue;
      const std::uint32_t one = names_.actor(first.actor).stream;
      const std::uint32_t other = names_.actor(second.actor).stream;
      if (root_of(of.streams, one) == root_of(of.streams, other)) continue;
      if (share_two_ranks(first.communicator, second.communicator)) report_threads(first, second);
    }
  }
}

bool WaitLint::on_one_device(ActorId a, ActorId b) const {
  const sim::DeviceId device = plan_.streams[plan_.actors[a].stream].device;
  return device.valid() && !plan_.devices[device].ordered() &&
         plan_.streams[plan_.actors[b].stream].device == device;
}

void WaitLint::report_threads(const Launched& first, const Launched& second) {
  const std::string& before = names_.name(first.actor);
  findings_.push_back(
      {.rule = kCommunicatorOrder,
       .place = names_.actor(second.actor).place,
       .message = fmt::format("nothing orders '{}' of thread '{}' and '{}' of thread '{}', calls "
                              "of two communicators on one device",
                              before, names_.thread(first.thread), names_.name(second.actor),
                              names_.thread(second.thread)),
       .ops = {names_.name(second.actor)},
       .ranks = RankSet({plan_.actors[second.actor].rank.value}),
       .why = "two ranks may launch them in opposite orders, and each then waits on its device for "
              "the "
              "call that the other has not started",
       .advice = "launch them from one thread in one order, or let a stream wait for the other by "
                 "an event"});
}

// Reports two hosts that each wait for a send before the other host has called the recv. If the
// sends share a communicator, the rule send-first reports the hosts instead.
void WaitLint::check_sends(std::uint32_t rank, const HostWait& wait) {
  const OpenSend& send = wait.send;
  const auto peer = waits_.find(send.peer);
  if (send.peer <= rank || peer == waits_.end()) return;
  const auto called = [](const HostWait& by, Direction direction) {
    const auto found = by.receives.find(direction);
    return found == by.receives.end() ? 0U : found->second;
  };
  for (const HostWait& other : peer->second) {
    const OpenSend& back = other.send;
    const bool both = back.peer == rank && back.communicator != send.communicator &&
                      called(other, {rank, send.communicator}) < send.number &&
                      called(wait, {send.peer, back.communicator}) < back.number;
    if (!both) continue;
    findings_.push_back(
        {.rule = kSendSync,
         .place = names_.actor(wait.wait).place,
         .message = fmt::format(
             "the host waits in '{}' for '{}' before it calls the recv of '{}', and rank {} waits "
             "for that one before it calls the recv of this one",
             names_.name(wait.wait), names_.name(send.actor), names_.name(back.actor), send.peer),
         .ops = {names_.name(wait.wait)},
         .ranks = RankSet({rank, send.peer}),
         .why = "a send may block until its recv, which neither host reaches",
         .advice = "call the recv before the host waits, or both in one group"});
    return;
  }
}

// ---------------------------------------------------------------------------------------------
// Names

// Reports communicators with the name of a group. Steps with this name use the communicator, not
// the group with its different ranks.
void lint_shadowed(const TaskGraph& graph, std::vector<LintFinding>& findings) {
  for (const CommunicatorTemplate& communicator : graph.communicators) {
    const std::uint32_t group = index_of(graph.groups, communicator.name);
    if (group == kNoIndex || communicator.group == group || communicator.group == kNoIndex)
      continue;
    // `parallel` creates groups whether or not their names are used; all these groups have the
    // place of `parallel`.
    const bool made = std::count_if(graph.groups.begin(), graph.groups.end(), [&](const Group& g) {
                        return g.place == graph.groups[group].place;
                      }) > 1;
    if (made) continue;
    findings.push_back({.rule = kShadowedGroup,
                        .place = communicator.place,
                        .message = fmt::format(
                            "communicator '{}' has the name of a group, and is one of group '{}'",
                            communicator.name, graph.groups[communicator.group].name),
                        .why = "steps that name it run on the communicator's ranks, not on those "
                               "of the group of that "
                               "name",
                        .advice = "give the communicator a name of its own"});
  }
}

}  // namespace

void lint_waits(const TaskGraph& graph, const Lowered& lowered,
                std::vector<LintFinding>& findings) {
  WaitLint(graph, lowered, findings).run();
  lint_shadowed(graph, findings);
}

}  // namespace pipesim::models
