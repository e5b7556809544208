// Defines functions of machine.hpp. The numbers in brackets are sections of
// docs/reference/rules.md; functions are in the order of these sections.
#include "tests/twin/machine.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace pipesim::twin {
namespace {

template <typename T>
T& change(std::vector<T>& items, int number) {
  return items.at(static_cast<std::size_t>(number));
}

template <typename T>
std::vector<T> of_size(int count) {
  return std::vector<T>(static_cast<std::size_t>(count));
}

bool first_of_group(int k, int group) { return k % group == 0; }
bool last_of_group(int k, int group) { return (k + 1) % group == 0; }

}  // namespace

void must(bool condition, const std::string& text) {
  if (!condition) throw std::logic_error("twin: " + text);
}

Machine::Machine(const Spec& plan) : spec(plan) {
  for (int a = 0; a < count_of(spec.actors); ++a) {
    registers_of_actor.push_back(registers_of(spec, a));
    inputs_of_actor.push_back(inputs_of(spec, a));
  }
  for (int r = 0; r < count_of(spec.registers); ++r) {
    edges_of_register.push_back(edges_of(spec, r));
  }
  launched.assign(spec.actors.size(), 0);
  done.assign(spec.actors.size(), 0);
  threads = of_size<ThreadState>(count_of(spec.threads));
  streams = of_size<StreamState>(count_of(spec.streams));
  for (const Communicator& communicator : spec.communicators) {
    CommunicatorState state;
    state.exists = !communicator.at_first_use;
    communicators.push_back(state);
  }
  for (int s = 0; s < count_of(spec.streams); ++s) dependents_of_stream.push_back(dependents_of(s));
  available = of_size<std::set<int>>(count_of(spec.edges));
  slots_out = of_size<std::map<int, std::set<int>>>(count_of(spec.registers));
  devices = of_size<DeviceState>(count_of(spec.devices));
  signals = of_size<SignalState>(count_of(spec.signals));
  locks = of_size<LockState>(count_of(spec.locks));
  rounds = of_size<RoundState>(count_of(spec.communicators));
  ranks = of_size<RankState>(spec.ranks);
}

// [2] Events and their order ----------------------------------------------------------------------

void Machine::run() {
  send_start_messages();
  while (!events_.empty()) {
    const EventKey key = events_.begin()->first;
    const std::optional<Timer> timer = next_timer();
    if (timer && timer->time < key.time) {
      fire_timer(*timer);
      continue;
    }
    if (timer && timer->time == key.time) branches.insert("10.5 event at the time of a timer");
    const Event event = events_.begin()->second;
    events_.erase(events_.begin());
    must(key.time >= now, "time runs backwards");
    now = key.time;
    happen_now(event);
  }
  rested_ = true;
}

void Machine::happen_now(const Event& event) {
  if (is_void(event)) return;
  if (event.starts >= 0) take_slots(*first_op(event.starts));
  if (event.wakes >= 0) wake(event.wakes);
  if (event.taken) take_source(*event.taken);
  if (is_stopped_by_faults(event)) return;
  for (const Op& op : event.ends) end(op);
  if (event.round_of >= 0) round_state(event.round_of) = RoundState();
  for (const CallRef& ref : event.calls) end_call(ref);
}

std::vector<Event> Machine::pending() const {
  std::vector<Event> all;
  for (const auto& [key, event] : events_) {
    if (!is_void(event)) all.push_back(event);
  }
  for (int d = 0; d < count_of(spec.devices); ++d) {
    if (!offers(d)) continue;
    for (const Op& op : may_start_on_device(d)) {
      all.push_back({.starts = actor(op.actor).stream});
    }
  }
  for (const auto& [key, channel] : channels) {
    if (key.from >= 0 || !channel.receive || !offers_starts) continue;
    for (const ChannelKey& source : sources(key.communicator, key.to)) {
      all.push_back({.taken = source});
    }
  }
  return all;
}

void Machine::happen(const Event& event) {
  const auto found = std::find_if(events_.begin(), events_.end(),
                                  [&](const auto& entry) { return entry.second == event; });
  if (found != events_.end()) events_.erase(found);
  happen_now(event);
}

void Machine::send_start_messages() {
  for (int a = 0; a < count_of(spec.actors); ++a) {
    bool has_data_input = false;
    for (int e : at(inputs_of_actor, a)) {
      if (!reg(edge(e).reg).control) has_data_input = true;
    }
    if (!has_data_input) deliver({MessageKind::kStart, a, -1, -1});
  }
}

// [11] Varied durations ---------------------------------------------------------------------------

namespace {

std::uint64_t mix(std::uint64_t h, std::uint64_t w) {
  std::uint64_t z = (h ^ w) + 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace

std::int64_t Machine::varied(int w1, int w2, std::int64_t w3, std::int64_t plain) const {
  const Timing& timing = spec.timing;
  const std::uint64_t g =
      mix(mix(mix(timing.seed, 0), static_cast<std::uint64_t>(w1)), static_cast<std::uint64_t>(w2));
  const std::uint64_t h = mix(g, static_cast<std::uint64_t>(w3));
  if (timing.free) {
    std::int64_t power = 1;
    for (std::uint64_t i = 0; i < g % 12 + h % 12; ++i) power *= 2;
    return power - 1 + static_cast<std::int64_t>(mix(h, 0) % static_cast<std::uint64_t>(power));
  }
  const std::int64_t part = plain * timing.permille / 1000;
  const std::int64_t first = std::max<std::int64_t>(0, plain - part);
  return first +
         static_cast<std::int64_t>(h % static_cast<std::uint64_t>(plain + part - first + 1));
}

/// Returns the number of a call among all calls, in the order of actors.
int Machine::number_of(const CallRef& ref) const {
  int number = ref.call;
  for (int a = 0; a < ref.op.actor; ++a) number += count_of(at(spec.actors, a).calls);
  return number;
}

void Machine::wake_soon(int thread) { add_wake(now + varied(4, thread, now, 0), thread); }

void Machine::add_wake(std::int64_t time, int thread) {
  must(!thread_state(thread).wake_is_due, "a thread is woken twice");
  thread_state(thread).wake_is_due = true;
  events_[{time, 1, next_sequence_++}] = Event{{}, thread, {}, -1};
}

// [3.1] Readiness ---------------------------------------------------------------------------------

bool Machine::waits_beyond_its_work(int a) const { return actor(a).outside.waits; }

bool Machine::has_edges(int r) const { return !at(edges_of_register, r).empty(); }

int Machine::credits_free(int r) const {
  return reg(r).slots - static_cast<int>(at(slots_out, r).size());
}

bool Machine::ready(int a) const {
  const int k = at(launched, a);
  const int ops = actor(a).ops + (waits_beyond_its_work(a) ? 1 : 0);
  if (k >= ops) return false;
  for (int e : at(inputs_of_actor, a)) {
    if (!at(available, e).contains(k / edge(e).ops_per_slot)) return false;
  }
  for (int r : at(registers_of_actor, a)) {
    if (!has_edges(r)) continue;
    if (first_of_group(k, reg(r).ops_per_slot) && credits_free(r) < 1) return false;
    const int drain = reg(r).drain_every;
    if (drain > 0 && k % drain == 0 && credits_free(r) < reg(r).slots) return false;
  }
  return true;
}

// [3.2] The woken thread --------------------------------------------------------------------------

std::optional<int> Machine::next_in_program(int t) const {
  const std::vector<int>& list = at(spec.threads, t).list;
  const int position = at(threads, t).position;
  if (position >= count_of(list)) return std::nullopt;
  return at(list, position);
}

void Machine::wake(int t) {
  ThreadState& thread = thread_state(t);
  thread.wake_is_due = false;
  if (is_dead(at(spec.threads, t).rank)) {
    branches.insert("10.2 a dead thread is woken");
    return;
  }
  thread.running = true;
  if (!resume(t)) {
    if (at(spec.threads, t).program) {
      run_program(t);
    } else {
      run_arrival(t);
    }
  }
  thread.running = false;
}

void Machine::run_arrival(int t) {
  ThreadState& thread = thread_state(t);
  while (true) {
    while (thread.at >= 0 && ready(thread.at)) {
      const Op next{thread.at, at(launched, thread.at)};
      if (enter(t, next, Step::kOutsideInput)) return;
    }
    if (thread.inbox.empty()) return;
    const Message message = thread.inbox.front();
    thread.inbox.pop_front();
    count(message);
    thread.at = message.to;
  }
}

void Machine::run_program(int t) {
  while (true) {
    const std::optional<int> next = next_in_program(t);
    if (!next || !ready(*next)) return;
    if (enter(t, {*next, at(launched, *next)}, Step::kOutsideInput)) return;
  }
}

bool Machine::enter(int t, Op op, Step first) {
  if (first <= Step::kOutsideInput) thread_state(t).entered = now;
  if (first == Step::kOutsideInput) log.push_back({now, op, false});
  if (first <= Step::kOutsideInput && blocks_for_outside_input(t, op)) return true;
  if (first <= Step::kInit && blocks_for_init(t, op)) return true;
  if (first <= Step::kConnection && blocks_for_connections(t, op)) return true;
  if (first <= Step::kOverhead && blocks_for_overhead(t, op)) return true;
  const bool host = on_host(actor(op.actor).role);
  if (host && first <= Step::kLaunchQueue) {
    if (dies_instead(t, op)) return true;
    thread_state(t).entering = op.actor;
    enter_library(op);
    const bool blocks = blocks_on_host(t, op);
    thread_state(t).entering = -1;
    if (blocks) return true;
  }
  if (!host && first <= Step::kLaunchQueue &&
      (sees_error(t, op) || blocks_for_launch_queue(t, op))) {
    return true;
  }
  if (!host && dies_instead(t, op)) return true;
  thread_state(t).entering = op.actor;
  if (!host) enter_library(op);
  launch(t, op);
  thread_state(t).entering = -1;
  if (host || !actor(op.actor).blocking) {
    log.push_back({now, op, true});
    return false;
  }
  thread_state(t).blocked = Blocked{op, Step::kBlocking};
  return true;
}

/// Continues in the step in which the thread was blocked, if any. Returns whether the thread is
/// blocked again.
bool Machine::resume(int t) {
  if (!thread_state(t).blocked) return false;
  const Blocked blocked = *thread_state(t).blocked;
  thread_state(t).blocked.reset();
  switch (blocked.step) {
    case Step::kOutsideInput:
    case Step::kInit:  // a group can need another communicator
      return enter(t, blocked.op, Step::kInit);
    case Step::kConnection:  // sends and recvs, then collectives
      return enter(t, blocked.op, Step::kConnection);
    case Step::kOverhead:
      return enter(t, blocked.op, Step::kLaunchQueue);
    case Step::kLaunchQueue:
      must(queue_of(actor(blocked.op.actor).stream).place_kept.erase(t) == 1,
           "the launch queue freed a thread without a place");
      [[fallthrough]];
    case Step::kHost:
      if (actor(blocked.op.actor).role == Role::kMeet && !thread_state(t).has_come &&
          blocks_for_meeting(t, blocked.op)) {
        return true;
      }
      return enter(t, blocked.op, Step::kBlocking);
    case Step::kBlocking:
      log.push_back({now, blocked.op, true});
      return false;
  }
  return false;
}

bool Machine::blocks_for_outside_input(int t, Op op) {
  const OutsideInput& outside = actor(op.actor).outside;
  if (!outside.waits) return false;
  if (op.k >= outside.items) {
    thread_state(t).blocked = Blocked{op, Step::kOutsideInput};
    return true;
  }
  std::int64_t arrives = outside.first + op.k * outside.every;
  if (spec.timing.free) arrives = now + varied(3, op.actor, op.k, 0);
  if (arrives <= now) return false;
  thread_state(t).blocked = Blocked{op, Step::kOutsideInput};
  add_wake(arrives, t);
  return true;
}

// [3.4] Launch overhead and launch queue ----------------------------------------------------------

bool Machine::blocks_for_overhead(int t, Op op) {
  const std::int64_t overhead = varied(2, op.actor, op.k, actor(op.actor).launch_overhead);
  if (overhead == 0) return false;
  thread_state(t).blocked = Blocked{op, Step::kOverhead};
  add_wake(now + overhead, t);
  return true;
}

std::vector<int> Machine::streams_of_queue(int s) const {
  const int device = at(spec.streams, s).device;
  if (device < 0 || at(spec.devices, device).launch_queue == 0) return {s};
  std::vector<int> sharing;
  for (int other = 0; other < count_of(spec.streams); ++other) {
    if (at(spec.streams, other).device == device) sharing.push_back(other);
  }
  return sharing;
}

LaunchQueue& Machine::queue_of(int s) {
  const int device = at(spec.streams, s).device;
  const bool shared = device >= 0 && at(spec.devices, device).launch_queue > 0;
  return shared ? devices.at(static_cast<std::size_t>(device)).queue : stream_state(s).queue;
}

bool Machine::blocks_for_launch_queue(int t, Op op) {
  const int s = actor(op.actor).stream;
  const std::vector<int> sharing = streams_of_queue(s);
  const auto is_op = [](const Entry& entry) { return entry.op.has_value(); };
  std::ptrdiff_t ops = 0;
  for (int each : sharing) {
    const std::deque<Entry>& entries = stream_state(each).entries;
    ops += std::count_if(entries.begin(), entries.end(), is_op);
  }
  LaunchQueue& queue = queue_of(s);
  const int device = at(spec.streams, s).device;
  const int of_device = device < 0 ? 0 : at(spec.devices, device).launch_queue;
  const int limit = of_device > 0 ? of_device : at(spec.streams, s).launch_queue;
  const auto taken = ops + static_cast<std::ptrdiff_t>(queue.place_kept.size());
  if (taken < limit && queue.waiters.empty()) return false;
  if (ops < limit) branches.insert("3.4 blocked by a place that is kept");
  if (of_device > 0) branches.insert("3.4 blocked by the queue of a device");
  queue.waiters.push_back(t);
  thread_state(t).blocked = Blocked{op, Step::kLaunchQueue};
  return true;
}

// [3.5] Launch ------------------------------------------------------------------------------------

bool Machine::was_launched(Op op) const { return times.contains(op); }

void Machine::launch(int t, Op op) {
  must(op.k == at(launched, op.actor) && ready(op.actor), "an act is launched out of turn");
  times[op].launch = now;
  last_progress = now;
  ++change(launched, op.actor);
  if (at(spec.threads, t).program) ++thread_state(t).position;

  for (int e : at(inputs_of_actor, op.actor)) {
    const int group = edge(e).ops_per_slot;
    if (last_of_group(op.k, group)) change(available, e).erase(op.k / group);
  }
  for (int r : at(registers_of_actor, op.actor)) {
    const int group = reg(r).ops_per_slot;
    if (has_edges(r) && first_of_group(op.k, group)) change(slots_out, r)[op.k / group] = {};
  }
  for (const Message& message : messages_of(op)) {
    if (leaves_at_launch(message)) deliver(message);
  }
  note_launch(op);
  if (on_host(actor(op.actor).role)) {
    times[op].start = times[op].end = now;
    ++change(done, op.actor);
  } else {
    put_on_stream(op);
  }
}

void Machine::put_on_stream(Op op) {
  const int s = actor(op.actor).stream;
  StreamState& stream = stream_state(s);
  const bool was_empty = stream.entries.empty();
  if (actor(op.actor).behind >= 0) {
    for (const Entry& before : stream_state(actor(op.actor).behind).entries) {
      if (before.op) stays_behind[op].push_back(*before.op);
    }
  }
  Entry entry;
  entry.op = op;
  stream.entries.push_back(entry);
  for (const std::pair<int, int>& line : lines_of(op.actor)) lines[line].push_back(op);
  if (is_on_limited_device(s)) {
    join_device(op);
    start_on_device(s);
  } else if (was_empty) {
    start_if_it_may(op);
  }
}

// [4] Registers -----------------------------------------------------------------------------------

/// Returns all messages of an op, in the order of [5.1].
std::vector<Message> Machine::messages_of(Op op) const {
  std::vector<Message> messages;
  for (int r : at(registers_of_actor, op.actor)) {
    const int group = reg(r).ops_per_slot;
    if (!last_of_group(op.k, group)) continue;
    for (int e : at(edges_of_register, r)) {
      messages.push_back({MessageKind::kData, edge(e).consumer, e, op.k / group});
    }
  }
  for (int e : at(inputs_of_actor, op.actor)) {
    const int group = edge(e).ops_per_slot;
    if (!last_of_group(op.k, group) || reused_by(e) >= 0) continue;
    messages.push_back({MessageKind::kAcknowledgement, producer_of(e), e, op.k / group});
  }
  return messages;
}

/// Counts a message [4.3].
void Machine::count(const Message& message) {
  if (message.kind == MessageKind::kData) {
    const bool is_new = change(available, message.edge).insert(message.slot).second;
    must(is_new, "a slot arrives twice");
  }
  if (message.kind == MessageKind::kAcknowledgement) count_acknowledgement(message);
}

/// Counts an acknowledgement [4.2].
void Machine::count_acknowledgement(const Message& message) {
  const int r = edge(message.edge).reg;
  std::map<int, std::set<int>>& out = change(slots_out, r);
  must(out.contains(message.slot), "an acknowledgement of a slot that is not out");
  for (const auto& [slot, edges] : out) {
    must(slot >= message.slot || edges.contains(message.edge), "acknowledged out of order");
  }
  std::set<int>& acknowledged = out[message.slot];
  acknowledged.insert(message.edge);
  if (acknowledged.size() < at(edges_of_register, r).size()) return;
  out.erase(message.slot);
  if (reg(r).in_place >= 0) acknowledge_in_place(r, message.slot);
}

/// Returns the register with edges that reuses this input, or -1 [4.4].
int Machine::reused_by(int e) const {
  for (int r : at(registers_of_actor, edge(e).consumer)) {
    if (has_edges(r) && in_place_edge(spec, r) == e) return r;
  }
  return -1;
}

void Machine::acknowledge_in_place(int r, int slot) {
  const int e = in_place_edge(spec, r);
  const Message message{MessageKind::kAcknowledgement, producer_of(e), e, slot};
  if (leaves_at_launch(message)) {
    branches.insert("4.4 in place: inbox of its own thread");
    deliver(message);
    return;
  }
  StreamState& stream = stream_state(actor(reg(r).producer).stream);
  if (stream.entries.empty()) {
    branches.insert("4.4 in place: stream is empty");
    deliver(message);
    return;
  }
  branches.insert("4.4 in place: mark");
  Entry mark;
  mark.acknowledgement = message;
  stream.entries.push_back(mark);
}

// [5.1] When a message leaves ---------------------------------------------------------------------

bool Machine::leaves_at_launch(int sender, int receiver) const {
  return actor(sender).immediate && actor(sender).thread == actor(receiver).thread;
}

bool Machine::leaves_at_launch(const Message& message) const {
  const int sender =
      message.kind == MessageKind::kData ? producer_of(message.edge) : edge(message.edge).consumer;
  return leaves_at_launch(sender, message.to);
}

void Machine::deliver(const Message& message) {
  const int t = actor(message.to).thread;
  ThreadState& thread = thread_state(t);
  if (is_dead(at(spec.threads, t).rank)) {
    branches.insert("10.2 a message is lost");
    return;
  }
  if (!at(spec.threads, t).program) {
    thread.inbox.push_back(message);
    if (thread.idle()) wake_soon(t);
    return;
  }
  count(message);
  const std::optional<int> next = next_in_program(t);
  if (thread.idle() && next && ready(*next)) wake_soon(t);
}

// [5.2] Streams -----------------------------------------------------------------------------------

bool Machine::is_done(Op op) const { return was_launched(op) && times.at(op).end >= 0; }

std::optional<Op> Machine::first_op(int s) const {
  for (const Entry& entry : at(streams, s).entries) {
    if (entry.op) return entry.op;
  }
  return std::nullopt;
}

/// Starts the op if it may start. The op is now the head of its stream, and its device has no
/// limits.
void Machine::start_if_it_may(Op op) {
  if (may_start(op)) start(op);
}

/// Starts the head of a stream; the caller has checked that it may start.
void Machine::start(Op op) {
  must(!has_stopped(rank_of(op.actor)), "something starts on a rank that has stopped");
  times[op].start = now;
  last_progress = now;
  if (is_on_limited_device(actor(op.actor).stream)) leave_queues_at_start(op);
  switch (actor(op.actor).role) {
    case Role::kOp:
      return start_op(op);
    case Role::kCalls:
      return start_calls(op);
    case Role::kRecord:
      return run_for(varied(0, op.actor, op.k, 0), Event{{op}, -1, {}, -1});
    case Role::kWait:
      return start_wait(op);
    default:
      must(false, "a step of the host is on a stream");
  }
}

void Machine::start_op(Op op) {
  std::vector<Op> together{op};
  std::int64_t takes = actor(op.actor).takes;
  if (actor(op.actor).collective >= 0) {
    together.clear();
    for (const Member& member : at(spec.collectives, actor(op.actor).collective).members) {
      const Op its_op{member.actor, op.k};
      if (member.actor < 0 || !was_launched(its_op) || times[its_op].start < 0) return;
      together.push_back(its_op);
      takes = std::max(takes, actor(member.actor).takes);
    }
  }
  takes = varied(0, together.front().actor, op.k, takes);
  const int collective = actor(op.actor).collective;
  const int communicator = collective < 0 ? -1 : at(spec.collectives, collective).communicator;
  const int link = communicator < 0 ? -1 : at(spec.communicators, communicator).link;
  if (hangs(link, takes, together)) {
    for (const Op& its_op : together) ops_that_hang[its_op] = link;
    return;
  }
  run_for(takes, Event{together, -1, {}, -1});
}

void Machine::run_for(std::int64_t duration, Event event) {
  must(duration <= std::numeric_limits<std::int64_t>::max() - now, "the end of time");
  events_[{now + duration, 0, next_sequence_++}] = std::move(event);
}

/// Removes marks at the head, and starts the op after them unless it must wait for its device.
void Machine::start_head(int s) {
  StreamState& stream = stream_state(s);
  while (!stream.entries.empty()) {
    const Entry head = stream.entries.front();
    if (head.op) {
      if (!is_on_limited_device(s)) start_if_it_may(*head.op);
      return;
    }
    stream.entries.pop_front();
    leave(head, s);
  }
}

void Machine::leave(const Entry& mark, int s) {
  if (mark.acknowledgement) {
    deliver(*mark.acknowledgement);
  } else if (mark.communicator >= 0) {
    CommunicatorState& communicator = communicator_state(mark.communicator);
    communicator.streams_marked.erase(s);
    if (communicator.streams_marked.empty()) finish_init(mark.communicator);
  } else {
    ThreadState& thread = thread_state(mark.synchronizes);
    thread.streams_marked.erase(s);
    if (thread.streams_marked.empty()) wake_soon(mark.synchronizes);
  }
}

void Machine::end(Op op) {
  times[op].end = now;
  last_progress = now;
  ++change(done, op.actor);
  const int s = actor(op.actor).stream;
  StreamState& stream = stream_state(s);
  must(!stream.entries.empty() && stream.entries.front().op == op, "ends without being head");
  stream.entries.pop_front();
  leave_lines(op);
  for (const Message& message : messages_of(op)) {
    if (!leaves_at_launch(message)) deliver(message);
  }
  if (actor(op.actor).role == Role::kRecord) fire(actor(op.actor).signal);
  LaunchQueue& queue = queue_of(s);
  if (!queue.waiters.empty()) {
    const int freed = queue.waiters.front();
    queue.waiters.pop_front();
    queue.place_kept.insert(freed);
    wake_soon(freed);
  }
  const int t = actor(op.actor).thread;
  const std::optional<Blocked>& blocked = thread_state(t).blocked;
  if (blocked && blocked->step == Step::kBlocking && blocked->op == op) wake_soon(t);
  start_head(s);
  if (is_on_limited_device(s)) leave_device(op);
  start_dependents(s);
  start_in_lines(op);
  if (is_on_limited_device(s)) start_on_device(s);
}

}  // namespace pipesim::twin
