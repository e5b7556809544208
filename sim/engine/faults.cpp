// Faults and timers (rule 10).
#include <algorithm>

#include "sim/engine/engine_impl.hpp"

namespace pipesim::sim {

// ---------------------------------------------------------------------------------------------
// Deaths and errors

// Rule 10.2.1: sets the timers of the plan's deaths.
void Engine::set_timers_of_plan() {
  for (std::uint32_t i = 0; i < plan_.deaths.size(); ++i) {
    timers_.push({plan_.deaths[i].at, TimerKind::kDeath, i});
  }
}

// Rule 10.2: kills a rank, unless it is already dead.
void Engine::die(RankId rank, Time at, DeathCause cause, ActorId actor, std::uint32_t k) {
  if (dead(rank)) return;
  state_.health[rank] = Health::kDead;
  deaths_.push_back({rank, at, cause, quiescent_, actor, k});
  if (plan_.timeouts.launcher.ns > 0 && cause != DeathCause::kLauncher) {
    timers_.push({later(at, plan_.timeouts.launcher), TimerKind::kLauncher, rank.value});
  }
}

// Rule 10.2: kills the rank in the current op of its thread.
void Engine::die_in(ThreadId id, DeathCause cause) {
  const ThreadState& thread = state_.threads[id];
  const std::uint32_t launched = state_.actors[thread.at].launched;
  const bool completing = thread.mode == ThreadMode::kBlocked && thread.step == Step::kCompletion;
  die(plan_.threads[id].rank, queue_.now(), cause, thread.at, launched - (completing ? 1 : 0));
}

// Rules 10.2.2 and 10.3: kills the rank if it dies before the thread launches its next op or runs
// its next host step. Returns true if the rank is dead.
bool Engine::dies_now(ThreadId id) {
  const ActorId actor = state_.threads[id].at;
  if (state_.actors[actor].launched == plan_.actors[actor].dies_at) {
    die_in(id, DeathCause::kAtOp);
  } else if (surfaces(id)) {
    die_in(id, DeathCause::kDeviceError);
  }
  return dead(plan_.threads[id].rank);
}

// Rule 10.3: whether a device error surfaces in the thread's next action or in its blocked op.
bool Engine::surfaces(ThreadId id) const {
  const Actor& actor = plan_.actors[state_.threads[id].at];
  if (state_.health[actor.rank] != Health::kFailed) return false;
  if (!on_host(actor.role) || actor.role == Role::kSynchronize) return true;
  if (actor.role == Role::kMeet) return !actor.drains && actor.streams != actor.streams_end;
  return actor.role == Role::kAwait && plan_.signals[actor.signal].recorded();
}

// Rule 10.3: ends the actor's next op in a device error. The rank dies at once if a blocked thread
// notices the error.
void Engine::fail(ActorId actor) {
  const RankId rank = plan_.actors[actor].rank;
  state_.health[rank] = Health::kFailed;
  device_errors_.push_back({rank, queue_.now(), actor, state_.actors[actor].done});
  for (const ThreadId id : ids_of(plan_.threads)) {
    if (plan_.threads[id].rank != rank) continue;
    const ThreadState& thread = state_.threads[id];
    const bool waits = thread.mode == ThreadMode::kBlocked &&
                       (thread.step == Step::kLaunchQueue || thread.step == Step::kHostStep ||
                        thread.step == Step::kCompletion);
    if (waits && surfaces(id)) return die_in(id, DeathCause::kDeviceError);
  }
}

// Rule 10.2: whether some rank of the communicator is dead.
bool Engine::any_dead(CommunicatorId id) const {
  const Communicator& communicator = plan_.communicators[id];
  const auto ranks = plan_.communicator_ranks.begin();
  return std::any_of(ranks + communicator.ranks, ranks + communicator.ranks_end,
                     [&](RankId rank) { return dead(rank); });
}

// Rules 10.2 and 10.3: whether a fault keeps the op at the stream's head from ending. If the op
// itself fails, reports the device error.
bool Engine::stopped_op(StreamId id) {
  if (!moves(plan_.streams[id].rank)) return true;
  const ActorId actor = state_.streams[id].items.front().actor();
  if (state_.actors[actor].done != plan_.actors[actor].fails_at) return false;
  fail(actor);
  return true;
}

// Rules 10.2 and 10.3: whether a fault keeps a collective from ending. Reports a device error for
// each member whose op fails.
bool Engine::stopped_collective(CollectiveId id) {
  const Collective& collective = plan_.collectives[id];
  const auto begin = plan_.members.begin() + collective.members;
  const auto end = plan_.members.begin() + collective.members_end;
  if (std::any_of(begin, end, [&](const Member& member) { return !moves(member.rank); })) {
    return true;
  }
  const auto errs = [&](const Member& member) {
    return state_.actors[member.actor].done == plan_.actors[member.actor].fails_at;
  };
  const bool any = std::any_of(begin, end, errs);
  for (auto member = begin; any && member != end; ++member) {
    if (errs(*member)) fail(member->actor);
  }
  return any;
}

// Rules 10.2 and 10.3: whether a fault keeps the collective calls at the current sequence number
// from ending. Ranks with a fatal call die.
bool Engine::stopped_round(CommunicatorId id) {
  const Communicator& communicator = plan_.communicators[id];
  bool fatal = false;
  for (std::uint32_t i = communicator.ranks; i < communicator.ranks_end; ++i) {
    if (!moves(plan_.communicator_ranks[i])) return true;
    fatal = fatal || plan_.calls[state_.in_round[i]].fatal;
  }
  for (std::uint32_t i = communicator.ranks; fatal && i < communicator.ranks_end; ++i) {
    const CallId call = state_.in_round[i];
    if (!plan_.calls[call].fatal) continue;
    die(plan_.communicator_ranks[i], queue_.now(), DeathCause::kFatalCall, plan_.calls[call].actor,
        op_of(call));
  }
  return fatal;
}

// Rules 10.2 and 10.3: whether a fault keeps `calls` from ending. Ranks with a fatal call die.
bool Engine::stopped_calls(std::initializer_list<CallId> calls) {
  bool fatal = false;
  for (const CallId id : calls) {
    if (!moves(plan_.actors[plan_.calls[id].actor].rank)) return true;
    fatal = fatal || plan_.calls[id].fatal;
  }
  if (!fatal) return false;
  for (const CallId id : calls) {
    if (!plan_.calls[id].fatal) continue;
    const ActorId actor = plan_.calls[id].actor;
    die(plan_.actors[actor].rank, queue_.now(), DeathCause::kFatalCall, actor, op_of(id));
  }
  return true;
}

// Rule 10.4: marks a call as never ending.
void Engine::hang(CallId id, LinkId link) {
  state_.calls[id] = CallStage::kHangs;
  set_link_error(link, plan_.actors[plan_.calls[id].actor].stream);
}

// ---------------------------------------------------------------------------------------------
// Timers

// Whether the head of the stream still hangs on a link; an abort may have ended the op that hung.
bool Engine::hangs_at_head(StreamId id) const {
  const StreamQueue& items = state_.streams[id].items;
  if (items.empty() || items.front().kind() != StreamItem::Kind::kOp) return false;
  if (plan_.actors[items.front().actor()].role == Role::kOp) return true;
  const auto calls = plan_.calls_of(items.front().actor());
  return std::any_of(calls.begin(), calls.end(),
                     [&](CallId call) { return state_.calls[call] == CallStage::kHangs; });
}

// Rule 10.5: fires a timer.
void Engine::fire(Timer timer) {
  switch (timer.kind) {
    case TimerKind::kDeath:
      die(plan_.deaths[timer.target].rank, timer.time, DeathCause::kAtTime);
      break;
    case TimerKind::kLinkError: {
      const StreamId stream{timer.target};
      if (plan_.aborts && !hangs_at_head(stream)) break;
      const ActorId head = state_.streams[stream].items.front().actor();
      die(plan_.streams[stream].rank, timer.time, DeathCause::kLinkError, head,
          state_.actors[head].done);
      break;
    }
    case TimerKind::kWatchdog:
      watchdog_looks(StreamId{timer.target}, timer.time);
      break;
    case TimerKind::kThread: {
      const ThreadState& thread = state_.threads[ThreadId{timer.target}];
      if (timer.time != thread.step_timeout && timer.time != thread.init_timeout) break;
      die(plan_.threads[ThreadId{timer.target}].rank, timer.time, DeathCause::kTimeout, thread.at,
          state_.actors[thread.at].launched);
      break;
    }
    case TimerKind::kLauncher:
      end_host(RankId{timer.target}, timer.time);
      break;
  }
}

// Rule 10.5: fires the timers that remain once the run is quiescent (the teardown).
void Engine::teardown() {
  quiescent_ = true;
  while (timers_.next_time() < end_of_run_) fire(timers_.pop());
}

// Rule 10.5: kills all ranks on the host of rank `dead`, as the launcher of that host does.
void Engine::end_host(RankId dead, Time at) {
  const std::vector<std::uint32_t>& host = plan_.timeouts.host;
  for (std::uint32_t rank = 0; rank < plan_.rank_count; ++rank) {
    if (host[rank] == host[dead.value]) die(RankId{rank}, at, DeathCause::kLauncher);
  }
}

// Rule 10.4: sets the timer for the error of a stream whose head hangs on a link that is down.
void Engine::set_link_error(LinkId id, StreamId stream) {
  const Link& link = plan_.links[id];
  if (link.retry.ns == 0) return;
  const Time since = std::max(queue_.now(), link.down);
  timers_.push({polled(later(since, link.retry)), TimerKind::kLinkError, stream.value});
}

// Rule 10.5: rounds up to a multiple of `poll`.
Time Engine::polled(Time time) const {
  const std::int64_t poll = plan_.timeouts.poll.ns;
  if (poll == 0 || time.ns % poll == 0) return time;
  return later(time, Duration{poll - time.ns % poll});
}

// Rule 10.5: returns the time at which the watchdog kills the rank if the op has not ended.
Time Engine::due(ActorId actor, Time launch) const {
  const Duration timeout = plan_.actors[actor].watchdog;
  return timeout.ns == 0 ? kEndOfTime : polled(later(launch, timeout));
}

// Rule 10.5: sets the watchdog of a stream after the launch of an op. Each stream has one timer,
// for the op that is due first.
void Engine::watch(StreamId id, ActorId actor) {
  StreamState& stream = state_.streams[id];
  if (stream.items.empty()) return;
  const Time time = due(actor, queue_.now());
  if (stream.watchdog != kNever && stream.watchdog <= time) return;
  stream.watchdog = time;
  timers_.push({time, TimerKind::kWatchdog, id.value});
}

// Rule 10.5: kills the rank if an op of the stream is due. Otherwise sets the timer for the op that
// is due first.
void Engine::watchdog_looks(StreamId id, Time at) {
  StreamState& stream = state_.streams[id];
  if (stream.watchdog != at || dead(plan_.streams[id].rank)) return;
  stream.watchdog = kNever;
  Time next = kEndOfTime;
  LaunchTimes launches(stream);
  const StreamQueue::Items items = state_.items_of(id);
  for (auto item = items.begin(); item != items.end(); ++item) {
    if ((*item).kind() != StreamItem::Kind::kOp) continue;
    const ActorId actor = (*item).actor();
    const Time time = due(actor, launches.next());
    next = std::min(next, time);
    if (time > at) continue;
    return die(plan_.streams[id].rank, at, DeathCause::kWatchdog, actor, state_.op_at(id, item));
  }
  if (next == kEndOfTime) return;
  stream.watchdog = next;
  timers_.push({next, TimerKind::kWatchdog, id.value});
}

// Rule 10.5: sets the timeout of a host step.
void Engine::set_step_timeout(ThreadId id) {
  ThreadState& thread = state_.threads[id];
  thread.step_timeout = later(queue_.now(), plan_.actors[thread.at].timeout);
  timers_.push({thread.step_timeout, TimerKind::kThread, id.value});
}

// Rule 10.5: sets the timeout of a communicator init or of a connection.
void Engine::set_init_timeout(ThreadId id, Duration timeout) {
  ThreadState& thread = state_.threads[id];
  thread.init_timeout = later(queue_.now(), timeout);
  timers_.push({thread.init_timeout, TimerKind::kThread, id.value});
}

}  // namespace pipesim::sim
