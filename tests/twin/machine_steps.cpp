// Limits of a device [5.3], waits for other streams [5.4], host steps [9.1] and events of streams
// [9.2] in machine.hpp, in the order of these sections.
#include <algorithm>
#include <utility>

#include "tests/twin/machine.hpp"

namespace pipesim::twin {

// [5.3] Limits of a device ------------------------------------------------------------------------

bool Machine::is_on_limited_device(int s) const {
  const int d = at(spec.streams, s).device;
  if (d < 0) return false;
  const Device& device = at(spec.devices, d);
  return device.hardware_queues > 0 || device.resident > 0 || device.order != Order::kNone;
}

bool Machine::needs_slot(Op op) const {
  const Role role = actor(op.actor).role;
  const int d = at(spec.streams, actor(op.actor).stream).device;
  if (at(spec.devices, d).resident == 0 || actor(op.actor).kernel_slots == 0) return false;
  return role == Role::kOp || role == Role::kCalls;
}

bool Machine::in_launch_order(Op op) const {
  const Order order = at(spec.devices, at(spec.streams, actor(op.actor).stream).device).order;
  if (order == Order::kNone || actor(op.actor).role != Role::kCalls) return false;
  if (order != Order::kSerialCollectives) return !actor(op.actor).unordered;
  const std::vector<Call>& all = actor(op.actor).calls;
  return actor(op.actor).kernel_slots > 0 &&
         std::any_of(all.begin(), all.end(),
                     [](const Call& call) { return call.kind == CallKind::kCollective; });
}

bool Machine::in_hardware_queue(Op op) const {
  const Device& device = at(spec.devices, at(spec.streams, actor(op.actor).stream).device);
  if (device.hardware_queues == 0) return false;
  return device.holds_queues || actor(op.actor).role != Role::kRecord;
}

int Machine::free_slots(int d) const {
  int free = at(spec.devices, d).resident;
  for (const auto& [op, slots] : at(devices, d).holds) free -= slots;
  return free;
}

/// Whether the device has enough free slots for a gang of the op, which needs slots.
bool Machine::can_take_slots(Op op) const {
  const int free = free_slots(at(spec.streams, actor(op.actor).stream).device);
  return free >= actor(op.actor).gang;
}

void Machine::join_device(Op op) {
  const Stream& stream = at(spec.streams, actor(op.actor).stream);
  DeviceState& device = devices.at(static_cast<std::size_t>(stream.device));
  device.turn.emplace(op, static_cast<int>(device.turn.size()));
  if (in_hardware_queue(op)) device.hardware_queues[stream.hardware_queue].push_back(op);
  if (in_launch_order(op)) device.launch_order.push_back(op);
}

/// Updates the queues of the device when an op starts.
void Machine::leave_queues_at_start(Op op) {
  const Stream& stream = at(spec.streams, actor(op.actor).stream);
  const Device& kind = at(spec.devices, stream.device);
  DeviceState& device = devices.at(static_cast<std::size_t>(stream.device));
  if (in_hardware_queue(op) && !kind.holds_queues && actor(op.actor).role != Role::kWait) {
    device.hardware_queues[stream.hardware_queue].pop_front();
  }
  if (in_launch_order(op) && kind.order == Order::kImplicit) device.launch_order.pop_front();
}

/// Frees the slots and queues of the device when an op ends.
void Machine::leave_device(Op op) {
  const Stream& stream = at(spec.streams, actor(op.actor).stream);
  const Device& kind = at(spec.devices, stream.device);
  DeviceState& device = devices.at(static_cast<std::size_t>(stream.device));
  device.holds.erase(op);
  if (in_launch_order(op) && kind.order != Order::kImplicit) {
    branches.insert("5.3 ends in a serial order");
    must(device.launch_order.front() == op, "ends without being the first of the launch order");
    device.launch_order.pop_front();
  }
  if (in_hardware_queue(op) && (kind.holds_queues || actor(op.actor).role == Role::kWait)) {
    if (kind.holds_queues) branches.insert("5.3 holds its hardware queue to its end");
    std::deque<Op>& queue = device.hardware_queues[stream.hardware_queue];
    must(queue.front() == op, "ends without being the first of its hardware queue");
    queue.pop_front();
  }
}

bool Machine::can_start_on_device(Op op) const {
  const Stream& stream = at(spec.streams, actor(op.actor).stream);
  const DeviceState& device = at(devices, stream.device);
  if (in_hardware_queue(op) && device.hardware_queues.at(stream.hardware_queue).front() != op) {
    return false;
  }
  if (in_launch_order(op) && device.launch_order.front() != op) return false;
  return !needs_slot(op) || can_take_slots(op);
}

std::vector<Op> Machine::may_start_on_device(int d) const {
  std::vector<Op> found;
  for (int s = 0; s < count_of(spec.streams); ++s) {
    const std::deque<Entry>& entries = at(streams, s).entries;
    if (at(spec.streams, s).device != d || entries.empty()) continue;
    must(entries.front().op.has_value(), "a mark waits at the head of a stream");
    const Op head = *entries.front().op;
    if (!was_started(head) && may_start(head)) found.push_back(head);
  }
  return found;
}

std::optional<Op> Machine::next_on_device(int d) const {
  std::optional<Op> best;
  const auto& turn = at(devices, d).turn;
  for (const Op& op : may_start_on_device(d)) {
    if (!best || turn.at(op) < turn.at(*best)) best = op;
  }
  return best;
}

bool Machine::offers(int d) const {
  const Device& device = at(spec.devices, d);
  return offers_starts && device.resident > 0 && device.order == Order::kNone;
}

void Machine::start_on_device(int s) {
  const int d = at(spec.streams, s).device;
  if (offers(d)) return;
  while (const std::optional<Op> next = next_on_device(d)) take_slots(*next);
}

/// Gives an op its turn on its device: starts the op if all its slots are free; otherwise takes the
/// free slots.
void Machine::take_slots(Op op) {
  const int d = at(spec.streams, actor(op.actor).stream).device;
  if (needs_slot(op)) {
    int& held = devices.at(static_cast<std::size_t>(d)).holds[op];
    const int gangs = free_slots(d) / actor(op.actor).gang;
    held = std::min(actor(op.actor).kernel_slots, held + gangs * actor(op.actor).gang);
    if (held < actor(op.actor).kernel_slots) {
      if (actor(op.actor).gang > 1) branches.insert("5.3 takes some of its gangs");
      branches.insert("5.3 takes some of its slots");
      last_progress = now;
      return;
    }
  }
  start(op);
}

// [5.4] Waiting for other streams -----------------------------------------------------------------

std::vector<Op> Machine::awaited_by(Op op) const {
  std::vector<Op> ops;
  for (const After& after : actor(op.actor).afters) {
    const Op other{after.actor, op.k + after.ahead};
    if (!is_done(other)) ops.push_back(other);
  }
  return ops;
}

std::optional<Op> Machine::last_that_it_is_behind(Op op) const {
  std::optional<Op> last;
  const auto found = stays_behind.find(op);
  if (found == stays_behind.end()) return last;
  for (const Op& other : found->second) {
    if (!is_done(other)) last = other;
  }
  return last;
}

/// Whether an op at the head of its stream may start.
bool Machine::may_start(Op op) const {
  if (!awaited_by(op).empty() || last_that_it_is_behind(op)) return false;
  if (!not_first_in_line(op).empty()) return false;
  return !is_on_limited_device(actor(op.actor).stream) || can_start_on_device(op);
}

/// Returns the other streams with an actor that waits for this stream, or for an actor on it.
std::set<int> Machine::dependents_of(int s) const {
  std::set<int> found;
  for (const Actor& its_actor : spec.actors) {
    if (its_actor.behind == s) found.insert(its_actor.stream);
    for (const After& after : its_actor.afters) {
      if (actor(after.actor).stream == s) found.insert(its_actor.stream);
    }
  }
  return found;
}

/// Starts ops of other streams after an op of this stream has ended.
void Machine::start_dependents(int s) {
  for (int other : at(dependents_of_stream, s)) {
    const std::optional<Op> first = first_op(other);
    if (!first || was_started(*first)) continue;
    if (is_on_limited_device(other)) {
      start_on_device(other);
    } else {
      start_if_it_may(*first);
    }
    note_dependent(*first);
  }
}

void Machine::note_dependent(Op op) {
  const int s = actor(op.actor).stream;
  if (was_started(op)) {
    branches.insert(is_on_limited_device(s) ? "5.4 starts on a limited device" : "5.4 starts");
  } else if (!awaited_by(op).empty()) {
    branches.insert("5.4 waits for another act");
  } else if (last_that_it_is_behind(op)) {
    branches.insert("5.4 stays behind a stream");
  } else {
    branches.insert("5.4 waits for room only");
  }
}

// [9.1] Host steps --------------------------------------------------------------------------------

/// Runs a step on the host, after its launch overhead. Returns whether it blocks the thread.
bool Machine::blocks_on_host(int t, Op op) {
  const Actor& step = actor(op.actor);
  bool blocks = false;
  switch (step.role) {
    case Role::kSynchronize:
      blocks = blocks_for_streams(t, op);
      break;
    case Role::kAwait:
      blocks = blocks_for_signal(t, op);
      break;
    case Role::kSet:
      fire(step.signal);
      break;
    case Role::kLock:
      blocks = blocks_for_lock(t, step.lock);
      break;
    case Role::kUnlock:
      unlock(step.lock);
      break;
    case Role::kMeet:
      thread_state(t).has_come = false;
      blocks = step.drained >= 0 ? blocks_for_calls(t, op) : blocks_for_streams(t, op);
      if (!blocks) return blocks_for_meeting(t, op);
      break;
    case Role::kAbort:
      abort(step.aborted, rank_of(op.actor));
      blocks = step.drained >= 0 && blocks_for_calls(t, op);
      break;
    case Role::kDrain:
      blocks = blocks_for_calls(t, op);
      break;
    default:
      break;
  }
  if (blocks) thread_state(t).blocked = Blocked{op, Step::kHost};
  return blocks;
}

bool Machine::blocks_for_streams(int t, Op op) {
  for (int s : actor(op.actor).synchronized) {
    StreamState& stream = stream_state(s);
    if (stream.entries.empty()) continue;
    Entry mark;
    mark.synchronizes = t;
    stream.entries.push_back(mark);
    thread_state(t).streams_marked.insert(s);
  }
  branches.insert(thread_state(t).streams_marked.empty() ? "9.1 nothing to synchronize"
                                                         : "9.1 synchronizes");
  return !thread_state(t).streams_marked.empty();
}

bool Machine::blocks_for_signal(int t, Op op) {
  const Actor& step = actor(op.actor);
  SignalState& signal = signal_state(step.signal);
  const bool recorded = at(spec.signals, step.signal).recorded;
  const int need = recorded ? count_of(signal.records) : step.times;
  if (signal.fired >= need) return false;
  branches.insert(recorded ? "9.1 awaits a stream" : "9.1 awaits hosts");
  signal.threads.push_back({need, t, std::nullopt});
  return true;
}

bool Machine::blocks_for_lock(int t, int l) {
  LockState& lock = lock_state(l);
  if (lock.holder) {
    branches.insert("9.1 line of a lock");
    lock.line.push_back(t);
    return true;
  }
  lock.holder = t;
  return false;
}

void Machine::unlock(int l) {
  LockState& lock = lock_state(l);
  lock.holder.reset();
  if (lock.line.empty()) return;
  lock.holder = lock.line.front();
  lock.line.pop_front();
  wake_soon(*lock.holder);
}

// [9.2] Events of streams -------------------------------------------------------------------------

void Machine::note_launch(Op op) {
  const Actor& step = actor(op.actor);
  if (step.role == Role::kRecord) signal_state(step.signal).records.push_back(op);
  if (step.role == Role::kWait) needs[op] = count_of(signal_state(step.signal).records);
}

void Machine::start_wait(Op op) {
  SignalState& signal = signal_state(actor(op.actor).signal);
  if (signal.fired >= needs.at(op)) {
    return run_for(varied(0, op.actor, op.k, 0), Event{{op}, -1, {}, -1});
  }
  branches.insert("9.2 wait has to wait");
  signal.streams.push_back({needs.at(op), -1, op});
}

void Machine::fire(int s) {
  SignalState& signal = signal_state(s);
  ++signal.fired;
  std::vector<Waiter> remaining;
  for (const Waiter& waiter : std::exchange(signal.threads, {})) {
    if (waiter.need > signal.fired) {
      remaining.push_back(waiter);
    } else {
      wake_soon(waiter.thread);
    }
  }
  signal.threads = std::exchange(remaining, {});
  for (const Waiter& waiter : std::exchange(signal.streams, {})) {
    if (waiter.need > signal.fired) {
      branches.insert("9.2 wait of a later record");
      remaining.push_back(waiter);
    } else {
      const Op wait = *waiter.wait;
      run_for(varied(0, wait.actor, wait.k, 0), Event{{wait}, -1, {}, -1});
    }
  }
  signal.streams = remaining;
}

}  // namespace pipesim::twin
