// The event engine. docs/rules.md says what it does, section by section; here is how.
//
// A run is a loop that takes the next event and hands it to one of three handlers. There is no
// polling: each actor carries a count of the conditions that its next act lacks, messages lower
// it, and an act is ready when it is zero. A launch costs a walk over the actor's own inputs and
// outputs; so does an end. Nothing is allocated per event: queues are rings that keep their memory,
// and lines of blocked threads are linked through the threads.
//
// Tested by tests/twin (a second implementation on random plans) and tests/unit/sim.
#include "sim/engine.hpp"

#include <algorithm>
#include <utility>

#include "sim/check.hpp"
#include "sim/event_queue.hpp"

namespace pipesim::sim {
namespace {

/// What comes when `step` is over.
Step after(Step step) { return static_cast<Step>(static_cast<int>(step) + 1); }

class Engine {
 public:
  Engine(const Plan& plan, const RunOptions& options)
      : plan_(plan), options_(options), state_(State::initial(plan)) {
    if (options.keep_act_times) reserve_act_times();
  }

  Outcome run();

 private:
  // Host threads (rules 3).
  void send_start_messages();
  void run_thread(ThreadId id);
  bool run_program(ThreadId id);
  bool run_inbox(ThreadId id);
  bool run_from(ThreadId id, Step step);
  bool ready(ActorId id) const;
  bool wait_for_input(ThreadId id);
  bool create_communicator(ThreadId id);
  bool await_launch_queue(ThreadId id);
  void launch(ActorId id);
  void take_inputs(ActorId id, std::uint32_t k, std::uint32_t& missing);
  void take_credits(ActorId id, std::uint32_t k, std::uint32_t& missing);
  void wake(ThreadId id);
  void wake_line(ThreadLine& line);
  void join(ThreadLine& line, ThreadId id);
  ThreadId leave(ThreadLine& line);

  // Messages (rules 4 and 5.1).
  void send_messages(ActorId id, std::uint32_t k, bool at_launch);
  void deliver(Message message);
  ActorId receiver(Message message) const;
  void count(Message message);
  void count_ack(EdgeId edge);
  void return_credit(RegisterId reg);
  void acknowledge_in_place(EdgeId edge);

  // Streams (rules 5.2).
  void advance(StreamId id);
  void start(StreamId id, ActorId actor);
  void end_act(StreamId id);
  void end_collective(CollectiveId id);
  void finish_creation(CommunicatorId id);

  void progress() { last_progress_ = queue_.now(); }
  void reserve_act_times();
  void keep_times(ActorId actor, std::uint32_t k, const ActTimes& times);
  void account_unfinished();

  const Plan& plan_;
  const RunOptions& options_;
  State state_;
  EventQueue queue_;
  Time last_progress_{0};
  std::uint64_t acts_done_ = 0;
  std::uint64_t events_ = 0;
  Fingerprint fingerprint_;
  std::vector<ActTimes> act_times_;
  IdVector<ActorId, std::uint64_t> first_act_;
};

Outcome Engine::run() {
  // How many events pass between two looks at the stop flag: about a millisecond.
  constexpr std::uint64_t kStopInterval = 1 << 14;
  RunEnd end = RunEnd::kStuck;
  send_start_messages();
  while (!queue_.empty()) {
    if (queue_.next_time() == kEndOfTime) {
      end = RunEnd::kTimeLimit;
      break;
    }
    if (++events_ % kStopInterval == 0 && options_.stop != nullptr &&
        options_.stop->load(std::memory_order_relaxed)) {
      end = RunEnd::kInterrupted;
      break;
    }
    const Event event = queue_.pop();
    switch (event.kind) {
      case EventKind::kOpEnds:
        end_act(StreamId{event.target});
        break;
      case EventKind::kCollectiveEnds:
        end_collective(CollectiveId{event.target});
        break;
      case EventKind::kThreadWakes:
        run_thread(ThreadId{event.target});
        break;
    }
  }
  if (acts_done_ == plan_.act_count) end = RunEnd::kCompleted;
  account_unfinished();
  Outcome outcome;
  outcome.end = end;
  outcome.last_progress = last_progress_;
  outcome.acts_done = acts_done_;
  outcome.events = events_;
  outcome.fingerprint = fingerprint_;
  outcome.state = std::move(state_);
  outcome.act_times = std::move(act_times_);
  outcome.first_act = std::move(first_act_);
  return outcome;
}

// ---------------------------------------------------------------------------------------------
// Host threads

void Engine::send_start_messages() {
  for (const ActorId id : ids_of(plan_.actors)) {
    const Actor& actor = plan_.actors[id];
    bool waits_for_data = false;
    for (std::uint32_t i = actor.inputs; i < actor.inputs_end; ++i) {
      if (!plan_.registers[plan_.edges[plan_.inputs[i]].source].control) waits_for_data = true;
    }
    if (!waits_for_data) deliver(Message::start(id));
  }
}

bool Engine::ready(ActorId id) const {
  const Actor& actor = plan_.actors[id];
  const ActorState& state = state_.actors[id];
  // A source that waits for outside input asks for one item beyond its work.
  const std::uint32_t limit = actor.input.waits ? actor.acts + 1 : actor.acts;
  return state.missing == 0 && state.launched < limit;
}

void Engine::run_thread(ThreadId id) {
  const Thread& thread = plan_.threads[id];
  ThreadState& state = state_.threads[id];
  const Step step = state.step;
  state.mode = ThreadMode::kRunning;
  state.step = Step::kNone;
  const bool in_launch = step != Step::kNone && step != Step::kCompletion;
  if (in_launch && !run_from(id, after(step))) return;
  const bool free = thread.order == ThreadOrder::kProgram ? run_program(id) : run_inbox(id);
  if (free) state.mode = ThreadMode::kIdle;
}

// Both do all that the thread can do, and return false where it is blocked in an act.
bool Engine::run_program(ThreadId id) {
  const Thread& thread = plan_.threads[id];
  ThreadState& state = state_.threads[id];
  const std::uint32_t length = thread.program_end - thread.program;
  while (state.next_act < length) {
    state.at = plan_.program[thread.program + state.next_act];
    if (!ready(state.at)) break;
    if (!run_from(id, Step::kOutsideInput)) return false;
  }
  return true;
}

bool Engine::run_inbox(ThreadId id) {
  ThreadState& state = state_.threads[id];
  for (;;) {
    while (state.at.valid() && ready(state.at)) {
      if (!run_from(id, Step::kOutsideInput)) return false;
    }
    if (state.inbox.empty()) return true;
    const Message message = state.inbox.pop();
    state.at = receiver(message);
    count(message);
  }
}

// Takes the act that the thread is at from `step` on to its launch and beyond. False where the
// thread is blocked on the way; its state then says at which step.
bool Engine::run_from(ThreadId id, Step step) {
  ThreadState& thread = state_.threads[id];
  const Actor& actor = plan_.actors[thread.at];
  const auto block = [&](Step at) {
    thread.mode = ThreadMode::kBlocked;
    thread.step = at;
    return false;
  };
  switch (step) {
    case Step::kNone:
    case Step::kOutsideInput:
      if (actor.input.waits && !wait_for_input(id)) return block(Step::kOutsideInput);
      [[fallthrough]];
    case Step::kCreation:
      if (actor.collective.valid() && !create_communicator(id)) return block(Step::kCreation);
      [[fallthrough]];
    case Step::kOverhead:
      if (actor.launch_overhead.ns > 0) {
        queue_.push(later(queue_.now(), actor.launch_overhead), Priority::kHost,
                    {EventKind::kThreadWakes, id.value});
        return block(Step::kOverhead);
      }
      [[fallthrough]];
    case Step::kLaunchQueue:
      if (!await_launch_queue(id)) return block(Step::kLaunchQueue);
      [[fallthrough]];
    case Step::kCompletion:
      break;
  }
  launch(thread.at);
  if (plan_.threads[id].order == ThreadOrder::kProgram) ++thread.next_act;
  return actor.blocking ? block(Step::kCompletion) : true;
}

bool Engine::wait_for_input(ThreadId id) {
  const ActorId actor = state_.threads[id].at;
  const OutsideInput& input = plan_.actors[actor].input;
  const std::uint32_t item = state_.actors[actor].launched;
  if (item >= input.items) return false;  // it never comes, and nothing ever wakes the thread
  const Duration all{input.every.ns > 0 && item > kEndOfTime.ns / input.every.ns
                         ? kEndOfTime.ns
                         : input.every.ns * item};
  const Time arrival = later(later(Time{0}, input.first), all);
  if (arrival <= queue_.now()) return true;
  queue_.push(arrival, Priority::kHost, {EventKind::kThreadWakes, id.value});
  return false;
}

bool Engine::create_communicator(ThreadId id) {
  const Actor& actor = plan_.actors[state_.threads[id].at];
  const CommunicatorId communicator = plan_.collectives[actor.collective].communicator;
  CommunicatorState& state = state_.communicators[communicator];
  if (state.exists) return true;
  const Communicator& creation = plan_.communicators[communicator];
  const auto begin = plan_.communicator_ranks.begin();
  const auto rank =
      std::lower_bound(begin + creation.ranks, begin + creation.ranks_end, actor.rank);
  std::uint8_t& arrived = state_.arrived[static_cast<std::size_t>(rank - begin)];
  progress();
  const bool last = arrived == 0 && ++state.ranks_arrived == creation.ranks_end - creation.ranks;
  arrived = 1;
  if (!last) {
    join(state.blocked, id);
    return false;
  }
  if (creation.waits_for_device) {
    for (const StreamId stream : ids_of(plan_.streams)) {
      if (state_.streams[stream].items.empty()) continue;
      if (!std::binary_search(begin + creation.ranks, begin + creation.ranks_end,
                              plan_.streams[stream].rank)) {
        continue;
      }
      state_.streams[stream].items.push(StreamItem::creation_mark(communicator));
      ++state.marks;
    }
  }
  if (state.marks > 0) {
    join(state.blocked, id);
    return false;
  }
  finish_creation(communicator);
  return true;
}

void Engine::finish_creation(CommunicatorId id) {
  state_.communicators[id].exists = true;
  wake_line(state_.communicators[id].blocked);
}

bool Engine::await_launch_queue(ThreadId id) {
  const StreamId stream = plan_.actors[state_.threads[id].at].stream;
  StreamState& state = state_.streams[stream];
  if (state.unfinished < plan_.streams[stream].launch_queue && state.waiting.empty()) {
    ++state.unfinished;
    return true;
  }
  join(state.waiting, id);
  return false;
}

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
  send_messages(id, k, true);
  StreamState& stream = state_.streams[actor.stream];
  stream.items.push(StreamItem::act(id, queue_.now()));
  if (stream.items.size() == 1) start(actor.stream, id);
}

// Uses up what act `k` takes from its inputs, and counts what act k + 1 lacks.
void Engine::take_inputs(ActorId id, std::uint32_t k, std::uint32_t& missing) {
  const Actor& actor = plan_.actors[id];
  for (std::uint32_t i = actor.inputs; i < actor.inputs_end; ++i) {
    const EdgeId edge = plan_.inputs[i];
    EdgeState& state = state_.edges[edge];
    if ((k + 1) % plan_.edges[edge].acts_per_slot == 0) --state.available;
    if (state.available == 0) ++missing;
  }
}

// Takes the credits of act `k`, and counts what act k + 1 lacks.
void Engine::take_credits(ActorId id, std::uint32_t k, std::uint32_t& missing) {
  for (const RegisterId reg_id : plan_.registers_of(id)) {
    const Register& reg = plan_.registers[reg_id];
    if (reg.edges == reg.edges_end) continue;
    RegisterState& state = state_.registers[reg_id];
    if (k % reg.acts_per_slot == 0) --state.free;
    if (!State::register_allows(reg, state, k + 1)) ++missing;
  }
}

void Engine::wake(ThreadId id) {
  queue_.push(queue_.now(), Priority::kHost, {EventKind::kThreadWakes, id.value});
}

void Engine::wake_line(ThreadLine& line) {
  while (!line.empty()) wake(leave(line));
}

void Engine::join(ThreadLine& line, ThreadId id) {
  state_.threads[id].next_in_line = ThreadId();
  if (line.empty()) {
    line.first = id;
  } else {
    state_.threads[line.last].next_in_line = id;
  }
  line.last = id;
}

ThreadId Engine::leave(ThreadLine& line) {
  const ThreadId first = line.first;
  line.first = state_.threads[first].next_in_line;
  return first;
}

// ---------------------------------------------------------------------------------------------
// Messages

// Sends those messages of act `k` that leave at its launch, or those that leave at its end: data
// first, then acknowledgements.
void Engine::send_messages(ActorId id, std::uint32_t k, bool at_launch) {
  for (const RegisterId reg_id : plan_.registers_of(id)) {
    if ((k + 1) % plan_.registers[reg_id].acts_per_slot != 0) continue;
    for (const EdgeId edge : plan_.edges_of(reg_id)) {
      if (plan_.edges[edge].data_at_launch == at_launch) deliver(Message::data(edge));
    }
  }
  const Actor& actor = plan_.actors[id];
  for (std::uint32_t i = actor.inputs; i < actor.inputs_end; ++i) {
    const Edge& edge = plan_.edges[plan_.inputs[i]];
    if (edge.ack_at_launch != at_launch || edge.in_place.valid()) continue;
    if ((k + 1) % edge.acts_per_slot == 0) deliver(Message::ack(plan_.inputs[i]));
  }
}

ActorId Engine::receiver(Message message) const {
  switch (message.kind()) {
    case Message::Kind::kStart:
      return message.actor();
    case Message::Kind::kData:
      return plan_.edges[message.edge()].consumer;
    case Message::Kind::kAck:
      break;
  }
  return plan_.registers[plan_.edges[message.edge()].source].producer;
}

void Engine::deliver(Message message) {
  const ThreadId id = plan_.actors[receiver(message)].thread;
  const Thread& thread = plan_.threads[id];
  ThreadState& state = state_.threads[id];
  if (thread.order == ThreadOrder::kArrival) {
    state.inbox.push(message);
    if (state.mode != ThreadMode::kIdle) return;
  } else {
    count(message);
    if (state.mode != ThreadMode::kIdle) return;
    const std::uint32_t next = thread.program + state.next_act;
    if (next == thread.program_end || !ready(plan_.program[next])) return;
  }
  state.mode = ThreadMode::kWaking;
  wake(id);
}

void Engine::count(Message message) {
  if (message.kind() == Message::Kind::kData) {
    const EdgeId edge = message.edge();
    if (state_.edges[edge].available++ == 0) --state_.actors[plan_.edges[edge].consumer].missing;
  } else if (message.kind() == Message::Kind::kAck) {
    count_ack(message.edge());
  }
}

void Engine::count_ack(EdgeId edge) {
  const RegisterId reg_id = plan_.edges[edge].source;
  const Register& reg = plan_.registers[reg_id];
  RegisterState& state = state_.registers[reg_id];
  // A slot is back when the edge that has acknowledged least moves on, and was the last of those.
  if (state_.edges[edge].acknowledged++ != state.returned) return;
  if (--state.at_least > 0) return;
  ++state.returned;
  for (const EdgeId other : plan_.edges_of(reg_id)) {
    if (state_.edges[other].acknowledged == state.returned) ++state.at_least;
  }
  if (reg.in_place.valid()) acknowledge_in_place(reg.in_place);
  return_credit(reg_id);
}

void Engine::return_credit(RegisterId reg_id) {
  const Register& reg = plan_.registers[reg_id];
  RegisterState& state = state_.registers[reg_id];
  ActorState& producer = state_.actors[reg.producer];
  const bool allowed = State::register_allows(reg, state, producer.launched);
  ++state.free;
  if (!allowed && State::register_allows(reg, state, producer.launched)) --producer.missing;
}

// The output that reused the slot has come back, so the slot itself may go back.
void Engine::acknowledge_in_place(EdgeId edge) {
  const StreamId stream = plan_.actors[plan_.edges[edge].consumer].stream;
  Ring<StreamItem>& items = state_.streams[stream].items;
  if (plan_.edges[edge].ack_at_launch || items.empty()) {
    deliver(Message::ack(edge));
  } else {
    items.push(StreamItem::ack_mark(edge));
  }
}

// ---------------------------------------------------------------------------------------------
// Streams

// Something has left the stream: marks at its head leave too, and an act there starts.
void Engine::advance(StreamId id) {
  Ring<StreamItem>& items = state_.streams[id].items;
  while (!items.empty()) {
    const StreamItem head = items.front();
    switch (head.kind()) {
      case StreamItem::Kind::kAct:
        start(id, head.actor());
        return;
      case StreamItem::Kind::kAckMark:
        items.pop();
        deliver(Message::ack(head.edge()));
        break;
      case StreamItem::Kind::kCreationMark:
        items.pop();
        if (--state_.communicators[head.communicator()].marks == 0) {
          finish_creation(head.communicator());
        }
        break;
    }
  }
}

void Engine::start(StreamId id, ActorId actor_id) {
  const Actor& actor = plan_.actors[actor_id];
  state_.streams[id].head_start = queue_.now();
  progress();
  if (!actor.collective.valid()) {
    queue_.push(later(queue_.now(), actor.takes), Priority::kDevice,
                {EventKind::kOpEnds, id.value});
    return;
  }
  const Collective& collective = plan_.collectives[actor.collective];
  std::uint32_t& started = state_.members_started[actor.collective];
  if (++started < collective.members_end - collective.members) return;
  started = 0;
  queue_.push(later(queue_.now(), collective.takes), Priority::kDevice,
              {EventKind::kCollectiveEnds, actor.collective.value});
}

void Engine::end_collective(CollectiveId id) {
  const Collective& collective = plan_.collectives[id];
  for (std::uint32_t i = collective.members; i < collective.members_end; ++i) {
    end_act(plan_.actors[plan_.members[i].actor].stream);
  }
}

void Engine::end_act(StreamId id) {
  StreamState& stream = state_.streams[id];
  const StreamItem item = stream.items.pop();
  const ActorId actor_id = item.actor();
  const Actor& actor = plan_.actors[actor_id];
  const std::uint32_t k = state_.actors[actor_id].done++;
  ++acts_done_;
  progress();
  keep_times(actor_id, k, {item.launch(), stream.head_start, queue_.now()});
  send_messages(actor_id, k, false);
  --stream.unfinished;
  if (!stream.waiting.empty()) {
    ++stream.unfinished;  // the place is kept until the thread runs
    wake(leave(stream.waiting));
  }
  const ThreadState& thread = state_.threads[actor.thread];
  if (actor.blocking && thread.at == actor_id && thread.step == Step::kCompletion) {
    wake(actor.thread);
  }
  advance(id);
}

// ---------------------------------------------------------------------------------------------
// Results

void Engine::reserve_act_times() {
  std::uint64_t count = 0;
  first_act_ = IdVector<ActorId, std::uint64_t>(plan_.actors.size());
  for (const ActorId id : ids_of(plan_.actors)) {
    first_act_[id] = count;
    count += plan_.actors[id].acts;
  }
  act_times_.resize(count);
}

void Engine::keep_times(ActorId actor, std::uint32_t k, const ActTimes& times) {
  fingerprint_.add(actor, k, times.launch, times.start, times.end);
  if (!act_times_.empty()) act_times_[first_act_[actor] + k] = times;
}

// The acts that were launched and will not end count too.
void Engine::account_unfinished() {
  IdVector<ActorId, std::uint32_t> seen(plan_.actors.size(), 0);
  for (const StreamState& stream : state_.streams) {
    for (std::uint32_t i = 0; i < stream.items.size(); ++i) {
      const StreamItem& item = stream.items[i];
      if (item.kind() != StreamItem::Kind::kAct) continue;
      const std::uint32_t k = state_.actors[item.actor()].done + seen[item.actor()]++;
      keep_times(item.actor(), k, {item.launch(), i == 0 ? stream.head_start : kNever, kNever});
    }
  }
}

}  // namespace

State State::initial(const Plan& plan) {
  State state;
  state.actors = IdVector<ActorId, ActorState>(plan.actors.size());
  state.registers = IdVector<RegisterId, RegisterState>(plan.registers.size());
  state.edges = IdVector<EdgeId, EdgeState>(plan.edges.size());
  state.streams = IdVector<StreamId, StreamState>(plan.streams.size());
  state.threads = IdVector<ThreadId, ThreadState>(plan.threads.size());
  state.members_started = IdVector<CollectiveId, std::uint32_t>(plan.collectives.size(), 0);
  state.communicators = IdVector<CommunicatorId, CommunicatorState>(plan.communicators.size());
  state.arrived.assign(plan.communicator_ranks.size(), 0);
  for (const RegisterId id : ids_of(plan.registers)) {
    state.registers[id].free = plan.registers[id].slots;
    state.registers[id].at_least = plan.edges_of(id).size();
  }
  for (const ActorId id : ids_of(plan.actors)) {
    state.actors[id].missing = plan.actors[id].inputs_end - plan.actors[id].inputs;
  }
  for (const CommunicatorId id : ids_of(plan.communicators)) {
    state.communicators[id].exists = !plan.communicators[id].at_first_use;
  }
  return state;
}

Outcome run(const Plan& plan, const RunOptions& options) { return Engine(plan, options).run(); }

}  // namespace pipesim::sim
