// Limits of a device [5.3], waits for other streams [5.4], host steps [9.1] and events of streams
// [9.2] of machine.hpp, in the order of these sections.
#include <algorithm>
#include <utility>

#include "tests/twin/machine.hpp"

namespace pipesim::twin {

// [5.3] Limits of a device ------------------------------------------------------------------------

bool Machine::has_room(int s) const {
  const int d = at(spec.streams, s).device;
  if (d < 0) return false;
  const Device& device = at(spec.devices, d);
  return device.hardware_queues > 0 || device.resident > 0 || device.order != Order::kNone;
}

bool Machine::needs_slot(Act act) const {
  const Role role = actor(act.actor).role;
  const int d = at(spec.streams, actor(act.actor).stream).device;
  if (at(spec.devices, d).resident == 0 || actor(act.actor).room == 0) return false;
  return role == Role::kOp || role == Role::kCalls;
}

bool Machine::in_launch_order(Act act) const {
  const Order order = at(spec.devices, at(spec.streams, actor(act.actor).stream).device).order;
  if (order == Order::kNone || actor(act.actor).role != Role::kCalls) return false;
  if (order != Order::kSerialCollectives) return true;
  const std::vector<Call>& all = actor(act.actor).calls;
  return std::any_of(all.begin(), all.end(),
                     [](const Call& call) { return call.kind == CallKind::kCollective; });
}

bool Machine::in_hardware_queue(Act act) const {
  const Device& device = at(spec.devices, at(spec.streams, actor(act.actor).stream).device);
  if (device.hardware_queues == 0) return false;
  return device.holds_queues || actor(act.actor).role != Role::kRecord;
}

int Machine::free_slots(int d) const {
  int free = at(spec.devices, d).resident;
  for (const auto& [act, slots] : at(devices, d).holds) free -= slots;
  return free;
}

/// Whether the device has enough free slots for a gang; the op needs some.
bool Machine::can_take_slots(Act act) const {
  const int free = free_slots(at(spec.streams, actor(act.actor).stream).device);
  return free >= actor(act.actor).gang;
}

void Machine::join_device(Act act) {
  const Stream& stream = at(spec.streams, actor(act.actor).stream);
  DeviceState& device = devices.at(static_cast<std::size_t>(stream.device));
  device.turn.emplace(act, static_cast<int>(device.turn.size()));
  if (in_hardware_queue(act)) device.hardware_queues[stream.hardware_queue].push_back(act);
  if (in_launch_order(act)) device.launch_order.push_back(act);
}

/// Updates the queues of the device when an op starts.
void Machine::take_room(Act act) {
  const Stream& stream = at(spec.streams, actor(act.actor).stream);
  const Device& kind = at(spec.devices, stream.device);
  DeviceState& device = devices.at(static_cast<std::size_t>(stream.device));
  if (in_hardware_queue(act) && !kind.holds_queues && actor(act.actor).role != Role::kWait) {
    device.hardware_queues[stream.hardware_queue].pop_front();
  }
  if (in_launch_order(act) && kind.order == Order::kImplicit) device.launch_order.pop_front();
}

/// Frees the slots and queues of the device when an op ends.
void Machine::give_room_back(Act act) {
  const Stream& stream = at(spec.streams, actor(act.actor).stream);
  const Device& kind = at(spec.devices, stream.device);
  DeviceState& device = devices.at(static_cast<std::size_t>(stream.device));
  device.holds.erase(act);
  if (in_launch_order(act) && kind.order != Order::kImplicit) {
    branches.insert("5.3 ends in a serial order");
    must(device.launch_order.front() == act, "ends without being the first of the launch order");
    device.launch_order.pop_front();
  }
  if (in_hardware_queue(act) && (kind.holds_queues || actor(act.actor).role == Role::kWait)) {
    if (kind.holds_queues) branches.insert("5.3 holds its hardware queue to its end");
    std::deque<Act>& queue = device.hardware_queues[stream.hardware_queue];
    must(queue.front() == act, "ends without being the first of its hardware queue");
    queue.pop_front();
  }
}

bool Machine::has_room_to_start(Act act) const {
  const Stream& stream = at(spec.streams, actor(act.actor).stream);
  const DeviceState& device = at(devices, stream.device);
  if (in_hardware_queue(act) && device.hardware_queues.at(stream.hardware_queue).front() != act) {
    return false;
  }
  if (in_launch_order(act) && device.launch_order.front() != act) return false;
  return !needs_slot(act) || can_take_slots(act);
}

std::vector<Act> Machine::may_start_on_device(int d) const {
  std::vector<Act> found;
  for (int s = 0; s < count_of(spec.streams); ++s) {
    const std::deque<Entry>& entries = at(streams, s).entries;
    if (at(spec.streams, s).device != d || entries.empty()) continue;
    must(entries.front().act.has_value(), "a mark waits at the head of a stream");
    const Act head = *entries.front().act;
    if (!was_started(head) && may_start(head)) found.push_back(head);
  }
  return found;
}

std::optional<Act> Machine::next_on_device(int d) const {
  std::optional<Act> best;
  const auto& turn = at(devices, d).turn;
  for (const Act& act : may_start_on_device(d)) {
    if (!best || turn.at(act) < turn.at(*best)) best = act;
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
  while (const std::optional<Act> next = next_on_device(d)) take_slots(*next);
}

/// Gives an op its turn on its device: starts it if all its slots are free, or takes the free ones.
void Machine::take_slots(Act act) {
  const int d = at(spec.streams, actor(act.actor).stream).device;
  if (needs_slot(act)) {
    int& held = devices.at(static_cast<std::size_t>(d)).holds[act];
    const int gangs = free_slots(d) / actor(act.actor).gang;
    held = std::min(actor(act.actor).room, held + gangs * actor(act.actor).gang);
    if (held < actor(act.actor).room) {
      if (actor(act.actor).gang > 1) branches.insert("5.3 takes some of its gangs");
      branches.insert("5.3 takes some of its slots");
      last_progress = now;
      return;
    }
  }
  start(act);
}

// [5.4] Waiting for other streams -----------------------------------------------------------------

std::vector<Act> Machine::awaited_by(Act act) const {
  std::vector<Act> acts;
  for (const After& after : actor(act.actor).afters) {
    const Act other{after.actor, act.k + after.ahead};
    if (!is_done(other)) acts.push_back(other);
  }
  return acts;
}

std::optional<Act> Machine::last_that_it_is_behind(Act act) const {
  std::optional<Act> last;
  const auto found = stays_behind.find(act);
  if (found == stays_behind.end()) return last;
  for (const Act& other : found->second) {
    if (!is_done(other)) last = other;
  }
  return last;
}

/// Whether an op may start; it is the first of its stream.
bool Machine::may_start(Act act) const {
  if (!awaited_by(act).empty() || last_that_it_is_behind(act)) return false;
  if (!not_first_in_line(act).empty()) return false;
  return !has_room(actor(act.actor).stream) || has_room_to_start(act);
}

/// Other streams with an actor that names this stream, or an actor on it.
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
    const std::optional<Act> first = first_act(other);
    if (!first || was_started(*first)) continue;
    if (has_room(other)) {
      start_on_device(other);
    } else {
      start_if_it_may(*first);
    }
    note_dependent(*first);
  }
}

void Machine::note_dependent(Act act) {
  const int s = actor(act.actor).stream;
  if (was_started(act)) {
    branches.insert(has_room(s) ? "5.4 starts on a limited device" : "5.4 starts");
  } else if (!awaited_by(act).empty()) {
    branches.insert("5.4 waits for another act");
  } else if (last_that_it_is_behind(act)) {
    branches.insert("5.4 stays behind a stream");
  } else {
    branches.insert("5.4 waits for room only");
  }
}

// [9.1] Host steps --------------------------------------------------------------------------------

/// Runs a step on the host, after its launch overhead. Returns whether it blocks the thread.
bool Machine::blocks_on_host(int t, Act act) {
  const Actor& step = actor(act.actor);
  bool blocks = false;
  switch (step.role) {
    case Role::kSynchronize:
      blocks = blocks_for_streams(t, act);
      break;
    case Role::kAwait:
      blocks = blocks_for_signal(t, act);
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
      if (!blocks_for_streams(t, act)) return blocks_for_meeting(t, act);
      blocks = true;
      break;
    default:
      break;
  }
  if (blocks) thread_state(t).blocked = Blocked{act, Step::kHost};
  return blocks;
}

bool Machine::blocks_for_streams(int t, Act act) {
  for (int s : actor(act.actor).synchronized) {
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

bool Machine::blocks_for_signal(int t, Act act) {
  const Actor& step = actor(act.actor);
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

void Machine::note_launch(Act act) {
  const Actor& step = actor(act.actor);
  if (step.role == Role::kRecord) signal_state(step.signal).records.push_back(act);
  if (step.role == Role::kWait) needs[act] = count_of(signal_state(step.signal).records);
}

void Machine::start_wait(Act act) {
  SignalState& signal = signal_state(actor(act.actor).signal);
  if (signal.fired >= needs.at(act)) {
    return run_for(varied(0, act.actor, act.k, 0), Event{{act}, -1, {}, -1});
  }
  branches.insert("9.2 wait has to wait");
  signal.streams.push_back({needs.at(act), -1, act});
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
      const Act wait = *waiter.wait;
      run_for(varied(0, wait.actor, wait.k, 0), Event{{wait}, -1, {}, -1});
    }
  }
  signal.streams = remaining;
}

}  // namespace pipesim::twin
