// Faults and timeouts [10] in machine.hpp, in the order of that section.
#include <algorithm>
#include <tuple>

#include "tests/twin/machine.hpp"

namespace pipesim::twin {

std::string text(Why why) {
  static const std::vector<std::string> kNames = {"at a time",    "at an act",  "fatal call",
                                                  "device error", "link error", "watchdog",
                                                  "timeout",      "launcher"};
  return at(kNames, static_cast<int>(why));
}

// [10.2] Death ------------------------------------------------------------------------------------

void Machine::die(int rank, Why why, std::optional<Op> op) {
  RankState& state = ranks.at(static_cast<std::size_t>(rank));
  if (state.dead) return;
  state.dead = true;
  if (!deaths.empty() && deaths.back().time == now && deaths.back().why != why) {
    branches.insert("10.5 deaths of two kinds at one time");
  }
  deaths.push_back({rank, now, rested_, why, op});
  if (spec.launcher == 0 || why == Why::kLauncher) return;
  launchers_.push_back({now + spec.launcher, TimerKind::kLauncher, rank, rank, std::nullopt});
}

/// Whether the rank dies instead of launching the op, or instead of its work on the host.
bool Machine::dies_instead(int t, Op op) {
  if (actor(op.actor).dies_at != op.k) return on_host(actor(op.actor).role) && sees_error(t, op);
  die(at(spec.threads, t).rank, Why::kAtAnOp, op);
  return true;
}

/// Whether the rank dies when an op reaches its launch queue, or instead of its work on the host,
/// because its devices have failed [10.3].
bool Machine::sees_error(int t, Op op) {
  const int rank = at(spec.threads, t).rank;
  if (!at(ranks, rank).failed || !needs_device(op)) return false;
  branches.insert("10.3 surfaces later: " + text(actor(op.actor).role));
  die(rank, Why::kDeviceError, op);
  return true;
}

bool Machine::needs_device(Op op) const {
  const Actor& step = actor(op.actor);
  if (step.role == Role::kAwait) return at(spec.signals, step.signal).recorded;
  if (step.role == Role::kMeet) return !step.synchronized.empty();
  return step.role == Role::kSynchronize || !on_host(step.role);
}

/// Returns the ranks that take part in the end of ops or calls.
std::vector<int> Machine::ranks_in(const Event& event) const {
  std::vector<int> found;
  for (const Op& op : event.ends) found.push_back(rank_of(op.actor));
  for (const CallRef& ref : event.calls) found.push_back(rank_of(ref.op.actor));
  return found;
}

/// Whether faults keep an event from ending its ops or calls: a rank has stopped, or the event
/// itself makes ranks die or fail.
bool Machine::is_stopped_by_faults(const Event& event) {
  for (int rank : ranks_in(event)) {
    if (!has_stopped(rank)) continue;
    branches.insert(is_dead(rank) ? "10.2 an event of a dead rank" : "10.3 an event of a device");
    return true;
  }
  bool stopped = false;
  for (const CallRef& ref : event.calls) {
    const bool was_ended = aborted.contains({call_of(ref).communicator, rank_of(ref.op.actor)});
    if (!call_of(ref).fatal || was_ended) continue;
    die(rank_of(ref.op.actor), Why::kFatalCall, ref.op);
    stopped = true;
  }
  for (const Op& op : event.ends) {
    if (actor(op.actor).fails_at != op.k) continue;
    fail(rank_of(op.actor));
    stopped = true;
  }
  return stopped;
}

bool Machine::has_dead_rank(int c) const {
  const std::vector<int>& its_ranks = at(spec.communicators, c).ranks;
  return std::any_of(its_ranks.begin(), its_ranks.end(),
                     [this](int rank) { return is_dead(rank); });
}

// [10.3] Errors of devices ------------------------------------------------------------------------

void Machine::fail(int rank) {
  ranks.at(static_cast<std::size_t>(rank)).failed = true;
  for (int t = 0; t < count_of(spec.threads); ++t) {
    if (at(spec.threads, t).rank != rank || !waits_for_device(t)) continue;
    const Blocked& blocked = *thread_state(t).blocked;
    if (thread_state(t).wake_is_due) branches.insert("10.3 surfaces in a thread that was freed");
    branches.insert(blocked.step == Step::kHost
                        ? "10.3 surfaces at once: " + text(actor(blocked.op.actor).role)
                    : blocked.step == Step::kBlocking ? "10.3 surfaces at once: blocking"
                                                      : "10.3 surfaces at once: launch queue");
    die(rank, Why::kDeviceError, blocked.op);
    return;
  }
  branches.insert("10.3 does not surface at once");
}

/// Whether a thread waits for its device, or was freed from such a wait and has not run yet.
bool Machine::waits_for_device(int t) const {
  const ThreadState& thread = at(threads, t);
  if (!thread.blocked) return false;
  const Blocked& blocked = *thread.blocked;
  return blocked.step == Step::kLaunchQueue || blocked.step == Step::kBlocking ||
         (blocked.step == Step::kHost && needs_device(blocked.op));
}

// [10.4] Links ------------------------------------------------------------------------------------

int Machine::arrival_link_of(int c, int rank) const {
  const Communicator& communicator = at(spec.communicators, c);
  for (int i = 0; i < count_of(communicator.links); ++i) {
    if (at(communicator.ranks, i) == rank) return at(communicator.links, i);
  }
  return -1;
}

bool Machine::link_is_down(int link) const { return link >= 0 && at(spec.links, link).down <= now; }

/// Returns the link of calls that run together, or -1.
int Machine::link_of(const std::vector<CallRef>& together, int round_of) const {
  if (round_of >= 0) return at(spec.communicators, round_of).link;
  const Call& first = call_of(together.front());
  if (first.kind == CallKind::kCollective) return at(spec.communicators, first.communicator).link;
  if (together.size() == 1) return first.kind == CallKind::kSend ? first.link : -1;
  return first.link >= 0 ? first.link : call_of(together.back()).link;
}

/// Whether a run that starts now hangs on the link. If so, a link error can follow.
bool Machine::hangs(int l, std::int64_t takes, const std::vector<Op>& together) {
  if (l < 0) return false;
  const Link& link = at(spec.links, l);
  if (now + takes < link.down) return false;
  branches.insert(now + takes == link.down ? "10.4 would end when the link goes down"
                                           : "10.4 hangs");
  for (const Op& op : together) {
    if (link.retry == 0) break;
    link_errors_.push_back({polled(std::max(now, link.down) + link.retry), TimerKind::kLinkError,
                            actor(op.actor).stream, rank_of(op.actor), op});
  }
  return true;
}

// [10.5] Timers -----------------------------------------------------------------------------------

/// Returns the time of the poll that finds an event at `time`: a multiple of `poll`.
std::int64_t Machine::polled(std::int64_t time) const {
  if (spec.poll == 0) return time;
  return (time + spec.poll - 1) / spec.poll * spec.poll;
}

std::optional<Timer> Machine::next_timer() const {
  std::vector<Timer> timers = link_errors_;
  std::erase_if(timers, [this](const Timer& timer) { return aborts_ended(*timer.op); });
  for (int i = 0; i < count_of(spec.deaths); ++i) {
    const Death& death = at(spec.deaths, i);
    if (deaths_come_.contains(i)) continue;
    timers.push_back({death.at, TimerKind::kDeath, i, death.rank, std::nullopt});
  }
  add_watchdogs(timers);
  add_thread_timers(timers);
  std::erase_if(timers, [this](const Timer& timer) { return is_dead(timer.rank); });
  timers.insert(timers.end(), launchers_.begin(), launchers_.end());
  if (timers.empty()) return std::nullopt;
  return *std::min_element(timers.begin(), timers.end(), [](const Timer& left, const Timer& right) {
    return std::tie(left.time, left.kind, left.number) <
           std::tie(right.time, right.kind, right.number);
  });
}

/// Returns the smallest timeout of the op's communicators; 0 if none has a timeout.
std::int64_t Machine::timeout_of(Op op) const {
  const Actor& its_actor = actor(op.actor);
  std::set<int> used;
  if (its_actor.collective >= 0) {
    used.insert(at(spec.collectives, its_actor.collective).communicator);
  }
  for (const Call& call : its_actor.calls) used.insert(call.communicator);
  std::set<std::int64_t> timeouts;
  for (int c : used) timeouts.insert(at(spec.communicators, c).timeout);
  timeouts.erase(0);
  return timeouts.empty() ? 0 : *timeouts.begin();
}

/// Adds the watchdogs. Among ops of one stream with the same deadline, the first in the stream
/// counts, because the first smallest element is taken.
void Machine::add_watchdogs(std::vector<Timer>& timers) const {
  for (int s = 0; s < count_of(spec.streams); ++s) {
    for (const Entry& entry : at(streams, s).entries) {
      const std::int64_t timeout = entry.op ? timeout_of(*entry.op) : 0;
      if (timeout == 0) continue;
      timers.push_back({polled(times.at(*entry.op).launch + timeout), TimerKind::kWatchdog, s,
                        at(spec.streams, s).rank, entry.op});
    }
  }
}

void Machine::add_thread_timers(std::vector<Timer>& timers) const {
  for (int t = 0; t < count_of(spec.threads); ++t) {
    const ThreadState& thread = at(threads, t);
    if (!thread.blocked) continue;
    const Blocked& blocked = *thread.blocked;
    const Actor& step = actor(blocked.op.actor);
    const int rank = at(spec.threads, t).rank;
    const std::int64_t init =
        blocked.step == Step::kInit ? at(spec.communicators, blocked.communicator).init_timeout : 0;
    if (init > 0) {
      timers.push_back({blocked.since + init, TimerKind::kThread, t, rank, blocked.op});
    }
    if (on_host(step.role) && step.timeout > 0) {
      timers.push_back({thread.entered + step.timeout, TimerKind::kThread, t, rank, blocked.op});
    }
  }
}

void Machine::fire_timer(const Timer& timer) {
  must(timer.time >= now, "a timer is late");
  now = timer.time;
  switch (timer.kind) {
    case TimerKind::kDeath:
      deaths_come_.insert(timer.number);
      return die(timer.rank, Why::kAtATime, std::nullopt);
    case TimerKind::kLinkError:
      return die(timer.rank, Why::kLinkError, timer.op);
    case TimerKind::kWatchdog:
      return die(timer.rank, Why::kWatchdog, timer.op);
    case TimerKind::kThread:
      return die(timer.rank, Why::kTimeout, timer.op);
    case TimerKind::kLauncher:
      break;
  }
  std::erase(launchers_, timer);
  for (int rank = 0; rank < spec.ranks; ++rank) {
    const bool together = spec.host_of_rank.empty() ||
                          at(spec.host_of_rank, rank) == at(spec.host_of_rank, timer.rank);
    if (together) die(rank, Why::kLauncher, std::nullopt);
  }
}

void Machine::run_on() {
  must(rested_ && events_.empty(), "the aftermath comes after the rest");
  while (const std::optional<Timer> timer = next_timer()) fire_timer(*timer);
}

}  // namespace pipesim::twin
