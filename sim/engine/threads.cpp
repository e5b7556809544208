// Host threads: the run of a woken thread, the steps of host programs, and launches.
#include <algorithm>
#include <utility>

#include "sim/engine/engine_impl.hpp"

namespace pipesim::sim {
namespace {

// Returns the step after `step`. Communicator init and connection repeat, because an op can need
// several.
Step step_after(Step step) {
  if (step == Step::kInit || step == Step::kConnection) return step;
  return static_cast<Step>(static_cast<int>(step) + 1);
}

}  // namespace

// Rule 3.2: runs a woken thread.
void Engine::run_thread(ThreadId id) {
  const Thread& thread = plan_.threads[id];
  ThreadState& state = state_.threads[id];
  if (dead(thread.rank)) return;
  const Step step = state.step;
  state.mode = ThreadMode::kRunning;
  state.init_timeout = kNever;
  state.step = Step::kNone;
  if (step == Step::kHostStep) {
    // The streams of `meet` are done; the thread now meets the hosts of other ranks.
    if (plan_.actors[state.at].role == Role::kMeet && state.needed == 0 && !meet(id)) {
      state.mode = ThreadMode::kBlocked;
      state.step = Step::kHostStep;
      return;
    }
    finish_host_step(id);
  } else if (step == Step::kCompletion) {
    note_return(state.at);
  } else if (step != Step::kNone) {
    if (!run_from(id, step_after(step))) return;
  }
  bool free = false;
  if (one_by_one_ && step != Step::kNone) {
    free = pause(id);
  } else {
    free = thread.order == ThreadOrder::kProgram ? run_program(id) : run_inbox(id);
  }
  if (free) state.mode = ThreadMode::kIdle;
}

// Rule 3.2, order program: runs the thread until it blocks or has nothing to do. Returns false if
// the thread is blocked in an op.
bool Engine::run_program(ThreadId id) {
  const Thread& thread = plan_.threads[id];
  ThreadState& state = state_.threads[id];
  const std::uint32_t length = thread.program_end - thread.program;
  while (state.next_op < length) {
    state.at = plan_.op(thread, thread.program + state.next_op);
    if (!ready(state.at)) break;
    if (!run_from(id, Step::kOutsideInput)) return false;
    if (one_by_one_) return pause(id);
  }
  return true;
}

// Rule 3.2, order arrival: runs the thread until it blocks or has nothing to do. Returns false if
// the thread is blocked in an op.
bool Engine::run_inbox(ThreadId id) {
  ThreadState& state = state_.threads[id];
  for (;;) {
    while (state.at.valid() && ready(state.at)) {
      if (!run_from(id, Step::kOutsideInput)) return false;
      if (one_by_one_) return pause(id);
    }
    if (state.inbox.empty()) return true;
    const Message message = state.inbox.pop();
    state.at = receiver(message);
    count(message);
    if (one_by_one_) return pause(id);
  }
}

// Rule 3.2, for the stepper: ends the thread's event after one action. If the thread can continue,
// schedules a separate event.
bool Engine::pause(ThreadId id) {
  const Thread& thread = plan_.threads[id];
  ThreadState& state = state_.threads[id];
  if (thread.order == ThreadOrder::kProgram) {
    const std::uint32_t next = thread.program + state.next_op;
    if (next == thread.program_end || !ready(plan_.op(thread, next))) return true;
  } else if (state.inbox.empty() && !(state.at.valid() && ready(state.at))) {
    return true;
  }
  state.mode = ThreadMode::kWaking;
  wake(id);
  return false;
}

// Rule 3.2: runs the remaining steps of the thread's op, starting at `step`, and its launch.
// Returns false if the thread blocks; ThreadState::step then holds the blocking step.
inline bool Engine::run_from(ThreadId id, Step step) {
  ThreadState& thread = state_.threads[id];
  const Actor& actor = plan_.actors[thread.at];
  const auto block = [&](Step at) {
    thread.mode = ThreadMode::kBlocked;
    thread.step = at;
    if (actor.timeout.ns > 0 && thread.step_timeout == kNever) set_step_timeout(id);
    return false;
  };
  const Step blocked = prepare(id, actor, step);
  if (blocked != Step::kNone) return block(blocked);
  if (on_host(actor.role)) {
    finish_host_step(id);
    return true;
  }
  if (plan_.faulty && dies_now(id)) return block(Step::kLaunchQueue);
  if (actor.in_library) advance_library(actor.rank);
  launch(thread.at);
  if (plan_.threads[id].order == ThreadOrder::kProgram) ++thread.next_op;
  if (actor.blocking) return block(Step::kCompletion);
  note_return(thread.at);
  return true;
}

// Rule 3.2: runs all steps before the launch, starting at `step`. Returns the step that blocks the
// thread, or kNone.
inline Step Engine::prepare(ThreadId id, const Actor& actor, Step step) {
  switch (step) {
    case Step::kNone:
    case Step::kOutsideInput:
      if (watches_enters_) note_enter(state_.threads[id].at);
      if (actor.input.waits && !wait_for_input(id)) return Step::kOutsideInput;
      [[fallthrough]];
    case Step::kInit:
    case Step::kConnection:
      if (const Step blocked = join_hosts(id); blocked != Step::kNone) return blocked;
      [[fallthrough]];
    case Step::kOverhead:
      if (work_before_launch(id, actor)) return Step::kOverhead;
      [[fallthrough]];
    case Step::kHostStep:
      if (on_host(actor.role)) {
        const bool dies = plan_.faulty && dies_now(id);
        return dies || !do_host_step(id) ? Step::kHostStep : Step::kNone;
      }
      [[fallthrough]];
    case Step::kLaunchQueue:
      if (plan_.faulty && surfaces(id)) {
        die_in(id, DeathCause::kDeviceError);
        return Step::kLaunchQueue;
      }
      if (!await_launch_queue(id)) return Step::kLaunchQueue;
      [[fallthrough]];
    case Step::kCompletion:
      break;
  }
  return Step::kNone;
}

// Rules 3.3 and 9.7: joins the hosts of other ranks before an actor's first op, by communicator
// init and connection. Returns the step that blocks the thread, or kNone.
inline Step Engine::join_hosts(ThreadId id) {
  const ActorId at = state_.threads[id].at;
  if (joins_[at] == 0) return Step::kNone;
  if (!create_communicators(id)) return Step::kInit;
  if (plan_.actors[at].role == Role::kCalls && !connect(id)) return Step::kConnection;
  if (!one_by_one_) joins_[at] = 0;
  return Step::kNone;
}

// Rule 3.4: starts the launch overhead. Returns false if the overhead is 0.
inline bool Engine::work_before_launch(ThreadId id, const Actor& actor) {
  if (actor.launch_overhead.ns == 0 && !varies_) return false;
  const ActorId at = state_.threads[id].at;
  const Duration overhead =
      varied(Draw::kLaunch, at.value, state_.actors[at].launched, actor.launch_overhead);
  if (overhead.ns == 0) return false;
  queue_.push(later(queue_.now(), overhead), Priority::kHost, {EventKind::kThreadWakes, id.value});
  return true;
}

// Rule 3.2: takes an item of outside input. Returns false if the thread must wait for the item.
bool Engine::wait_for_input(ThreadId id) {
  const ActorId actor = state_.threads[id].at;
  const OutsideInput& input = plan_.actors[actor].input;
  const std::uint32_t item = state_.actors[actor].launched;
  if (item >= input.items) return false;  // the item never arrives, so the thread is never woken
  const Duration all{input.every.ns > 0 && item > kEndOfTime.ns / input.every.ns
                         ? kEndOfTime.ns
                         : input.every.ns * item};
  Time arrival = later(later(Time{0}, input.first), all);
  if (options_.jitter.free) {
    arrival = later(queue_.now(), varied(Draw::kInput, actor.value, item, Duration{0}));
  }
  if (arrival <= queue_.now() && !one_by_one_) return true;
  queue_.push(std::max(arrival, queue_.now()), Priority::kHost,
              {EventKind::kThreadWakes, id.value});
  return false;
}

// ---------------------------------------------------------------------------------------------
// Host programs

// Rule 9.1: runs a host step. Returns false if the step must wait for an event; the event then
// wakes the thread.
bool Engine::do_host_step(ThreadId id) {
  const Actor& actor = plan_.actors[state_.threads[id].at];
  if (actor.in_library) advance_library(actor.rank);
  switch (actor.role) {
    case Role::kSynchronize:
      return synchronize(id);
    case Role::kAwait:
      return await(id);
    case Role::kLock:
      return lock(id);
    case Role::kSet:
      fire(actor.signal);
      return true;
    case Role::kUnlock:
      unlock(actor.lock);
      return true;
    case Role::kMeet:
      state_.threads[id].needed = 0;
      return (actor.drains ? drain(id) : synchronize(id)) && meet(id);
    case Role::kAbort:
      abort(id);
      return drain(id);
    case Role::kDrain:
      return drain(id);
    default:
      return true;  // only its launch overhead takes time, and that is over
  }
}

// Rule 9.1: launches, starts and ends the op at this moment.
inline void Engine::finish_host_step(ThreadId id) {
  ThreadState& thread = state_.threads[id];
  ActorState& actor = state_.actors[thread.at];
  const std::uint32_t k = actor.done++;
  ++actor.launched;
  ++ops_done_;
  ++thread.next_op;
  thread.step_timeout = kNever;
  progress();
  keep_times(thread.at, k, {queue_.now(), queue_.now(), queue_.now()});
  note_return(thread.at);
}

// Rule 9.1: runs `synchronize`. Returns false if the thread must wait.
bool Engine::synchronize(ThreadId id) {
  ThreadState& thread = state_.threads[id];
  const Actor& actor = plan_.actors[thread.at];
  for (std::uint32_t i = actor.streams; i < actor.streams_end; ++i) {
    const StreamId stream = plan_.synchronized[i];
    if (state_.streams[stream].items.empty()) continue;
    push(stream, StreamItem::synchronize_mark(id));
    ++thread.marks;
  }
  return thread.marks == 0;
}

// Rule 9.9: waits for the calls of the thread's rank on a communicator. Returns false if the thread
// must wait.
bool Engine::drain(ThreadId id) {
  ThreadState& thread = state_.threads[id];
  const Actor& actor = plan_.actors[thread.at];
  const bool on_host = plan_.communicators[actor.communicator].on_host;
  const auto is_of = [&](const Call& call) {
    return call.communicator == actor.communicator &&
           (!on_host || call.kind == CallKind::kCollective);
  };
  for (std::uint32_t i = actor.streams; i < actor.streams_end; ++i) {
    const StreamId stream = plan_.synchronized[i];
    std::uint32_t last = 0;  // number of items up to the last op with such a call
    std::uint32_t index = 0;
    for (const StreamItem item : state_.items_of(stream)) {
      ++index;
      if (item.kind() != StreamItem::Kind::kOp) continue;
      const auto calls = plan_.calls_of(item.actor());
      if (std::any_of(calls.begin(), calls.end(),
                      [&](CallId call) { return is_of(plan_.calls[call]); })) {
        last = index;
      }
    }
    if (last == 0) continue;
    state_.streams[stream].items.insert(state_.blocks, last, StreamItem::synchronize_mark(id));
    ++thread.marks;
  }
  return thread.marks == 0;
}

// Rule 9.1: runs `await`. Returns false if the thread must wait.
bool Engine::await(ThreadId id) {
  ThreadState& thread = state_.threads[id];
  const Actor& actor = plan_.actors[thread.at];
  SignalState& signal = state_.signals[actor.signal];
  thread.needed = plan_.signals[actor.signal].recorded() ? signal.recorded : actor.times;
  if (signal.fired >= thread.needed) return true;
  join(signal.threads, id);
  return false;
}

// Rule 9.1: runs `lock`. Returns false if the thread must wait.
bool Engine::lock(ThreadId id) {
  LockState& lock = state_.locks[plan_.actors[state_.threads[id].at].lock];
  if (!lock.holder.valid()) {
    lock.holder = id;
    return true;
  }
  join(lock.waiting, id);
  return false;
}

// Rule 9.1: runs `unlock`.
void Engine::unlock(LockId id) {
  LockState& lock = state_.locks[id];
  lock.holder = lock.waiting.empty() ? ThreadId() : leave(lock.waiting);
  if (lock.holder.valid()) wake(lock.holder);
}

// Rule 3.4: takes a place in the launch queue. Returns false if the thread must wait for a place.
inline bool Engine::await_launch_queue(ThreadId id) {
  const StreamId stream = plan_.actors[state_.threads[id].at].stream;
  const LaunchQueue state = launch_queue(stream);
  if (state.unfinished < plan_.streams[stream].launch_queue && state.waiting.empty()) {
    ++state.unfinished;
    return true;
  }
  join(state.waiting, id);
  return false;
}

}  // namespace pipesim::sim
