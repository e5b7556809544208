// Messages, streams, device limits, and events of streams.
#include <algorithm>
#include <utility>

#include "sim/engine/engine_impl.hpp"

namespace pipesim::sim {

// ---------------------------------------------------------------------------------------------
// Messages

// Rule 2: sends the start messages.
void Engine::send_start_messages() {
  for (const ActorId id : ids_of(plan_.actors)) {
    const Actor& actor = plan_.actors[id];
    bool waits_for_data = false;
    for (std::uint32_t i = actor.inputs; i < actor.inputs_end; ++i) {
      if (!plan_.registers[plan_.edges[plan_.inputs[i]].source].control) waits_for_data = true;
    }
    if (!waits_for_data) deliver(Message::start(id), actor.thread);
  }
}

// Rule 5.1: sends the messages of op `k` that leave at its launch, or at its end: data first, then
// acknowledgements.
void Engine::send_messages(ActorId id, std::uint32_t k, bool at_launch) {
  for (const RegisterId reg_id : plan_.registers_of(id)) {
    if ((k + 1) % plan_.registers[reg_id].ops_per_slot != 0) continue;
    for (const EdgeId edge : plan_.edges_of(reg_id)) {
      const Edge& fixed = plan_.edges[edge];
      if (fixed.data_at_launch == at_launch) deliver(Message::data(edge), fixed.consumer_thread);
    }
  }
  const Actor& actor = plan_.actors[id];
  for (std::uint32_t i = actor.inputs; i < actor.inputs_end; ++i) {
    const Edge& edge = plan_.edges[plan_.inputs[i]];
    if (edge.ack_at_launch != at_launch || edge.in_place.valid()) continue;
    if ((k + 1) % edge.ops_per_slot == 0) deliver_ack(plan_.inputs[i]);
  }
}

// Rule 5.1: delivers a message to a thread.
inline void Engine::deliver(Message message, ThreadId id) {
  const Thread& thread = plan_.threads[id];
  ThreadState& state = state_.threads[id];
  if (dead(thread.rank)) return;
  if (thread.order == ThreadOrder::kArrival) {
    state.inbox.push(message);
    if (state.mode != ThreadMode::kIdle) return;
  } else {
    count(message);
    if (state.mode != ThreadMode::kIdle) return;
    const std::uint32_t next = thread.program + state.next_op;
    if (next == thread.program_end || !ready(plan_.op(thread, next))) return;
  }
  state.mode = ThreadMode::kWaking;
  wake(id);
}

inline void Engine::deliver_ack(EdgeId edge) {
  deliver(Message::ack(edge), plan_.edges[edge].producer_thread);
}

// Rule 4.2: counts an acknowledgement. The last edge to acknowledge a slot returns its credit.
void Engine::count_ack(EdgeId edge) {
  const RegisterId reg_id = plan_.edges[edge].source;
  const Register& reg = plan_.registers[reg_id];
  RegisterState& state = state_.registers[reg_id];
  // The credit returns once no edge has acknowledged only `returned` slots.
  if (state_.edges[edge].acknowledged++ != state.returned) return;
  if (--state.at_least > 0) return;
  ++state.returned;
  for (const EdgeId other : plan_.edges_of(reg_id)) {
    if (state_.edges[other].acknowledged == state.returned) ++state.at_least;
  }
  return_credit(reg_id);
  if (reg.in_place.valid()) acknowledge_in_place(reg.in_place);
}

// Rules 4.2 and 3.1: returns a credit; the producer's next op can become ready.
void Engine::return_credit(RegisterId reg_id) {
  const Register& reg = plan_.registers[reg_id];
  RegisterState& state = state_.registers[reg_id];
  ActorState& producer = state_.actors[reg.producer];
  const bool allowed = State::register_allows(reg, state, producer.launched);
  ++state.free;
  if (!allowed && State::register_allows(reg, state, producer.launched)) --producer.missing;
}

// Rule 4.4: acknowledges an input slot whose memory an output reused, once the output's credit has
// returned. Unless the acknowledgement leaves at launch, it queues after the ops in the consumer's
// stream.
void Engine::acknowledge_in_place(EdgeId edge) {
  const StreamId stream = plan_.actors[plan_.edges[edge].consumer].stream;
  if (plan_.edges[edge].ack_at_launch || state_.streams[stream].items.empty()) {
    deliver_ack(edge);
  } else {
    push(stream, StreamItem::ack_mark(edge));
  }
}

// ---------------------------------------------------------------------------------------------
// Launches

// Rule 3.5: launches the actor's next op.
void Engine::launch(ActorId id) {
  const Actor& actor = plan_.actors[id];
  ActorState& state = state_.actors[id];
  const std::uint32_t k = state.launched;
  state.launched = k + 1;
  std::uint32_t missing = 0;
  take_inputs(id, k, missing);
  take_credits(id, k, missing);
  state.missing = missing;
  progress();
  if (actor.sends_at_launch) send_messages(id, k, true);
  if (actor.role == Role::kRecord) ++state_.signals[actor.signal].recorded;
  std::uint32_t needed = 0;
  if (actor.role == Role::kWait) needed = state_.signals[actor.signal].recorded;
  if (actor.behind.valid()) needed = state_.streams[actor.behind].launched;
  StreamState& stream = state_.streams[actor.stream];
  ++stream.launched;
  if (actor.in_lines) join_lines(actor.stream, actor);
  const DeviceId device = plan_.streams[actor.stream].device;
  if (limited(device)) {
    push(actor.stream, StreamItem::op(id, needed));
    stream.add_launch(queue_.now(), state_.devices[device].launches++);
    join_queues(actor.stream, id);
    dispatch(device);
  } else {
    push(actor.stream, StreamItem::op(id, needed));
    stream.add_launch(queue_.now());
    if (stream.items.size() == 1) start_head(actor.stream);
  }
  if (actor.watchdog.ns > 0) watch(actor.stream, id);
}

// Rule 3.5.1: takes the inputs of op `k`, and counts the inputs that op k + 1 lacks.
inline void Engine::take_inputs(ActorId id, std::uint32_t k, std::uint32_t& missing) {
  const Actor& actor = plan_.actors[id];
  for (std::uint32_t i = actor.inputs; i < actor.inputs_end; ++i) {
    const EdgeId edge = plan_.inputs[i];
    EdgeState& state = state_.edges[edge];
    if ((k + 1) % plan_.edges[edge].ops_per_slot == 0) --state.available;
    if (state.available == 0) ++missing;
  }
}

// Rule 3.5.2: takes the credits of op `k`, and counts the credits that op k + 1 lacks.
inline void Engine::take_credits(ActorId id, std::uint32_t k, std::uint32_t& missing) {
  for (const RegisterId reg_id : plan_.registers_of(id)) {
    const Register& reg = plan_.registers[reg_id];
    if (reg.edges == reg.edges_end) continue;
    RegisterState& state = state_.registers[reg_id];
    if (k % reg.ops_per_slot == 0) --state.free;
    if (!State::register_allows(reg, state, k + 1)) ++missing;
  }
}

// ---------------------------------------------------------------------------------------------
// Streams

// Rule 5.2: handles the new head after an item has left the stream. Removes marks up to the next
// op, then starts that op.
inline void Engine::advance(StreamId id) {
  const StreamQueue& items = state_.streams[id].items;
  while (!items.empty()) {
    const StreamItem head = items.front();
    switch (head.kind()) {
      case StreamItem::Kind::kOp:
        // On a limited device, dispatch() starts ops.
        if (!limited(plan_.streams[id].device)) start_head(id);
        return;
      case StreamItem::Kind::kAckMark:
        pop(id);
        deliver_ack(head.edge());
        break;
      case StreamItem::Kind::kInitMark:
        pop(id);
        if (--state_.communicators[head.communicator()].marks == 0) {
          finish_init(head.communicator());
        }
        break;
      case StreamItem::Kind::kSynchronizeMark:
        pop(id);
        if (--state_.threads[head.thread()].marks == 0) wake(head.thread());
        break;
    }
  }
}

// Rules 5.4 and 9.3: whether the op at the head waits for other streams. If `by` is valid, the op
// cannot start before `until` ops of stream `by` are done. If the op is held and `by` is not valid,
// the op waits to be the first of all its lines.
inline bool Engine::held(StreamId id, StreamId& by, std::uint32_t& until) const {
  const StreamItem& head = state_.streams[id].items.front();
  const Actor& actor = plan_.actors[head.actor()];
  const std::uint32_t k = state_.actors[head.actor()].done;
  for (std::uint32_t i = actor.afters; i < actor.afters_end; ++i) {
    const After& after = plan_.afters[i];
    if (state_.actors[after.actor].done > k + after.ahead) continue;
    by = plan_.actors[after.actor].stream;
    until = state_.streams[by].done + 1;
    return true;
  }
  if (actor.behind.valid() && state_.streams[actor.behind].done < head.needed()) {
    by = actor.behind;
    until = head.needed();
    return true;
  }
  by = StreamId();
  for (std::uint32_t i = actor.lines; i < actor.lines_end; ++i) {
    if (state_.lines[plan_.actor_lines[i]].front() != id) return true;
  }
  return false;
}

// Rules 5.4 and 9.3: whether the op at the head waits for other streams.
bool Engine::held(StreamId id) const {
  StreamId by;
  std::uint32_t until = 0;
  return held(id, by, until);
}

// Rules 5.2 and 5.4: starts the op at the head if it is not held.
inline void Engine::start_head(StreamId id) {
  StreamState& stream = state_.streams[id];
  const ActorId actor = stream.items.front().actor();
  stream.held_by = StreamId();
  if (plan_.actors[actor].waits_for_streams && held(id, stream.held_by, stream.held_until)) {
    return;
  }
  start(id, actor);
}

// Rule 5.4: starts the heads of other streams that waited for the op of stream `id` that has just
// ended.
inline void Engine::release_dependents(StreamId id) {
  const std::uint32_t done = state_.streams[id].done;
  for (std::uint32_t i = plan_.streams[id].dependents; i < plan_.streams[id].dependents_end; ++i) {
    const StreamId other = plan_.dependents[i];
    const StreamState& state = state_.streams[other];
    const bool waits = !state.items.empty() && state.head_start == kNever;
    if (state.held_by.valid()) {
      if (state.held_by == id && state.held_until <= done) start_head(other);
    } else if (waits && limited(plan_.streams[other].device)) {
      dispatch(plan_.streams[other].device);
    } else if (waits) {
      start_head(other);  // waited for its line and can be first now
    }
  }
}

// Rule 5.2: starts an op.
inline void Engine::start(StreamId id, ActorId actor_id) {
  const Actor& actor = plan_.actors[actor_id];
  state_.streams[id].head_start = queue_.now();
  state_.streams[id].items.prefetch(state_.blocks);
  progress();
  if (actor.role == Role::kWait) return start_wait(id, actor.signal);
  if (actor.role == Role::kCalls) return start_calls(actor_id);
  if (!actor.collective.valid()) {
    queue_.push(later(queue_.now(), op_takes(actor_id, actor.takes)), Priority::kDevice,
                {EventKind::kOpEnds, id.value});
    return;
  }
  const Collective& collective = plan_.collectives[actor.collective];
  std::uint32_t& started = state_.members_started[actor.collective];
  if (++started < collective.members_end - collective.members) return;
  started = 0;
  const LinkId link = plan_.communicators[collective.communicator].link;
  const Duration takes = op_takes(plan_.members[collective.members].actor, collective.takes);
  if (hangs(link, takes)) {
    state_.hangs[actor.collective] = 1;
    for (std::uint32_t i = collective.members; i < collective.members_end; ++i) {
      set_link_error(link, plan_.actors[plan_.members[i].actor].stream);
    }
    return;
  }
  queue_.push(later(queue_.now(), takes), Priority::kDevice,
              {EventKind::kCollectiveEnds, actor.collective.value});
}

// Rule 5.2: ends the ops of all members together.
void Engine::end_collective(CollectiveId id) {
  const Collective& collective = plan_.collectives[id];
  for (std::uint32_t i = collective.members; i < collective.members_end; ++i) {
    end_op(plan_.actors[plan_.members[i].actor].stream);
  }
}

// Rule 5.2: ends the op at the head.
void Engine::end_op(StreamId id) {
  const Stream& fixed = plan_.streams[id];
  // In a large run, the dependents have left the cache since their last op.
  for (std::uint32_t i = fixed.dependents; i < fixed.dependents_end; ++i) {
    __builtin_prefetch(&state_.streams[plan_.dependents[i]]);
  }
  StreamState& stream = state_.streams[id];
  const Time launch = stream.launch.time;
  const ActorId actor_id = stream.items.pop(state_.blocks).actor();
  stream.remove_launch();
  const Actor& actor = plan_.actors[actor_id];
  const std::uint32_t k = state_.actors[actor_id].done++;
  ++ops_done_;
  ++stream.done;
  progress();
  keep_times(actor_id, k, {launch, stream.head_start, queue_.now()});
  stream.head_start = kNever;
  const DeviceId device = fixed.device;
  if (limited(device)) free_slots(id, actor_id);
  if (actor.in_lines) leave_lines(actor);
  for (std::uint32_t i = fixed.dependents; i < fixed.dependents_end; ++i) {
    const StreamState& other = state_.streams[plan_.dependents[i]];
    if (other.held_by == id) __builtin_prefetch(&plan_.actors[other.items.front().actor()]);
  }
  if (actor.sends_at_end) send_messages(actor_id, k, false);
  if (actor.role == Role::kRecord) fire(actor.signal);
  const LaunchQueue launches = launch_queue(id);
  --launches.unfinished;
  if (!launches.waiting.empty()) {
    ++launches.unfinished;  // the place is kept until the thread runs
    wake(leave(launches.waiting));
  }
  const ThreadState& thread = state_.threads[actor.thread];
  if (actor.blocking && thread.at == actor_id && thread.step == Step::kCompletion) {
    wake(actor.thread);
  }
  advance(id);
  release_dependents(id);
  if (actor.in_lines) start_in_lines(actor);
  if (limited(device)) dispatch(device);
}

// ---------------------------------------------------------------------------------------------
// Communicators with calls on several streams

// Rule 9.3: adds a launched op to its lines.
void Engine::join_lines(StreamId id, const Actor& actor) {
  for (std::uint32_t i = actor.lines; i < actor.lines_end; ++i) {
    state_.lines[plan_.actor_lines[i]].push(id);
  }
}

// Rule 9.3: removes an ended op from its lines; the op was the first of each line.
void Engine::leave_lines(const Actor& actor) {
  for (std::uint32_t i = actor.lines; i < actor.lines_end; ++i) {
    state_.lines[plan_.actor_lines[i]].pop();
  }
}

// Rule 9.3: starts the next op of each line if possible.
void Engine::start_in_lines(const Actor& actor) {
  for (std::uint32_t i = actor.lines; i < actor.lines_end; ++i) {
    const Ring<StreamId>& line = state_.lines[plan_.actor_lines[i]];
    if (line.empty()) continue;
    const StreamId next = line.front();
    if (limited(plan_.streams[next].device)) {
      dispatch(plan_.streams[next].device);
    } else if (state_.streams[next].head_start == kNever) {
      start_head(next);
    }
  }
}

// ---------------------------------------------------------------------------------------------
// Device limits

// Rule 5.3: adds the op just launched on the stream to the queues of its device.
void Engine::join_queues(StreamId id, ActorId actor) {
  const Stream& stream = plan_.streams[id];
  const Device& device = plan_.devices[stream.device];
  DeviceState& device_state = state_.devices[stream.device];
  if (device.queues(plan_.actors[actor].role)) {
    device_state.hardware_queues[stream.hardware_queue].push(id);
  }
  if (plan_.in_order(device, actor)) device_state.launch_order.push(id);
}

// Rules 5.3 and 5.4: whether the head of the stream can start, or can take slots.
bool Engine::may_start(const Device& device, const DeviceState& device_state, StreamId id) const {
  const StreamState& stream = state_.streams[id];
  if (stream.items.empty() || stream.head_start != kNever) return false;
  const ActorId actor = stream.items.front().actor();
  const Actor& head = plan_.actors[actor];
  const Role role = head.role;
  if (device.queues(role) &&
      device_state.hardware_queues[plan_.streams[id].hardware_queue].front() != id) {
    return false;
  }
  if (plan_.in_order(device, actor) && device_state.launch_order.front() != id) return false;
  if (device.resident > 0 && head.kernel_slots > 0) {
    const std::uint32_t free = device.resident - device_state.resident;
    if (free < head.gang) return false;
  }
  return !held(id);
}

// Rule 5.3: starts all ops that can start, in launch order. In a stepper, the choice among ops that
// compete for slots is open, so each of their starts is an event.
void Engine::dispatch(DeviceId id) {
  const Device& device = plan_.devices[id];
  const DeviceState& device_state = state_.devices[id];
  const bool offers = one_by_one_ && device.starts_freely();
  for (;;) {
    StreamId best;
    for (std::uint32_t i = device.streams; i < device.streams_end; ++i) {
      const StreamId stream = plan_.device_streams[i];
      if (!may_start(device, device_state, stream)) continue;
      StreamState& state = state_.streams[stream];
      if (offers && plan_.actors[state.items.front().actor()].kernel_slots > 0) {
        if (!state.offered) {
          queue_.push(queue_.now(), Priority::kDevice, {EventKind::kOpStarts, stream.value});
        }
        state.offered = true;
        continue;
      }
      if (!best.valid() || state.launch.number < state_.streams[best].launch.number) best = stream;
    }
    if (!best.valid()) return;
    start_on(id, best);
  }
}

// Rule 5.3: takes slots for the head of the stream, and starts the head once it has all its slots.
void Engine::start_on(DeviceId id, StreamId stream) {
  const Device& device = plan_.devices[id];
  DeviceState& device_state = state_.devices[id];
  const ActorId actor = state_.streams[stream].items.front().actor();
  const Role role = plan_.actors[actor].role;
  if (device.resident > 0) {
    std::uint32_t& held = state_.streams[stream].slots;
    const std::uint32_t missing = plan_.actors[actor].kernel_slots - held;
    const std::uint32_t free = device.resident - device_state.resident;
    const std::uint32_t taken = std::min(missing, free - free % plan_.actors[actor].gang);
    held += taken;
    device_state.resident += taken;
    if (taken < missing) return progress();
  }
  if (device.queues(role) && device.leaves_queue_at_start(role)) {
    device_state.hardware_queues[plan_.streams[stream].hardware_queue].pop();
  }
  if (!device.serial() && plan_.in_order(device, actor)) device_state.launch_order.pop();
  start(stream, actor);
}

// Rules 5.3 and 5.5, for the stepper: starts the head of the stream, whose start was pending,
// unless other ops have taken its slots. In that case the start becomes pending again when a slot
// is free.
void Engine::start_offered(StreamId id) {
  const DeviceId device = plan_.streams[id].device;
  state_.streams[id].offered = false;
  if (!may_start(plan_.devices[device], state_.devices[device], id)) return;
  start_on(device, id);
  dispatch(device);
}

// Rule 5.3: returns the slots and queue places of an op that has left the stream.
void Engine::free_slots(StreamId id, ActorId actor) {
  const Device& device = plan_.devices[plan_.streams[id].device];
  DeviceState& device_state = state_.devices[plan_.streams[id].device];
  const Role role = plan_.actors[actor].role;
  device_state.resident -= std::exchange(state_.streams[id].slots, 0);
  if (device.queues(role) && !device.leaves_queue_at_start(role)) {
    device_state.hardware_queues[plan_.streams[id].hardware_queue].pop();
  }
  if (device.serial() && plan_.in_order(device, actor)) device_state.launch_order.pop();
}

// ---------------------------------------------------------------------------------------------
// Events of streams

// Rule 9.2: fires the signal. Waiters whose need is met continue in order of arrival; all other
// waiters stay in the queue.
void Engine::fire(SignalId id) {
  SignalState& signal = state_.signals[id];
  ++signal.fired;
  ThreadLine threads = std::exchange(signal.threads, ThreadLine());
  while (!threads.empty()) {
    const ThreadId thread = leave(threads);
    if (state_.threads[thread].needed <= signal.fired) {
      wake(thread);
    } else {
      join(signal.threads, thread);
    }
  }
  StreamId stream = std::exchange(signal.streams, StreamLine()).first;
  while (stream.valid()) {
    const StreamId next = state_.streams[stream].next_in_line;
    if (state_.streams[stream].items.front().needed() <= signal.fired) {
      op_ends_now(stream);
    } else {
      join(signal.streams, stream);
    }
    stream = next;
  }
}

// Rule 9.2: schedules the end of a `wait`, which takes no time of its own.
void Engine::op_ends_now(StreamId id) {
  const ActorId actor = state_.streams[id].items.front().actor();
  queue_.push(later(queue_.now(), op_takes(actor, Duration{0})), Priority::kDevice,
              {EventKind::kOpEnds, id.value});
}

// Rule 9.2: starts a `wait`.
void Engine::start_wait(StreamId id, SignalId signal) {
  if (state_.streams[id].items.front().needed() <= state_.signals[signal].fired) {
    op_ends_now(id);
  } else {
    join(state_.signals[signal].streams, id);
  }
}

}  // namespace pipesim::sim
