// The event engine. docs/reference/rules.md says what it does, section by section; here is how.
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
#include <initializer_list>
#include <utility>

#include "sim/assert.hpp"
#include "sim/event_queue.hpp"
#include "sim/fixed_order.hpp"
#include "sim/stepper.hpp"
#include "sim/timer_queue.hpp"

namespace pipesim::sim {
namespace {

/// What comes when `step` is over. A communicator that now exists may be one of several that an act
/// needs.
Step after(Step step) {
  return step == Step::kCreation ? step : static_cast<Step>(static_cast<int>(step) + 1);
}

class Engine {
 public:
  Engine(const Plan& plan, const RunOptions& options)
      : plan_(plan),
        options_(options),
        watches_enters_(options.keep_act_times || options.keep_log || options.until_actor.valid()),
        one_by_one_(options.order != nullptr),
        varies_(options.jitter.varies()),
        state_(State::initial(plan)) {
    if (options.keep_act_times) act_times_ = ActTimesTable(plan, options.last_times_of);
  }

  Outcome run();

  // For the stepper.
  struct OneByOne {};
  Engine(const Plan& plan, const RunOptions& options, OneByOne)
      : plan_(plan),
        options_(options),
        watches_enters_(false),
        one_by_one_(true),
        varies_(false),
        state_(State::initial(plan)) {}
  void begin(std::vector<Event>& pending);
  void step(Event event, std::vector<Event>& pending);
  const State& state() const { return state_; }
  std::uint64_t acts_done() const { return acts_done_; }
  bool mismatched() const { return mismatched_ || !mismatches_.empty(); }
  void restore(const Moment& moment);

 private:
  RunEnd run_order();
  RunEnd run_events();
  void handle(Event event);

  // Host threads (rules 3).
  void send_start_messages();
  void run_thread(ThreadId id);
  bool pause(ThreadId id);
  bool run_program(ThreadId id);
  bool run_inbox(ThreadId id);
  bool run_from(ThreadId id, Step step);
  Step prepare(ThreadId id, const Actor& actor, Step step);
  bool work_before_launch(ThreadId id, const Actor& actor);
  bool ready(ActorId id) const;
  bool wait_for_input(ThreadId id);
  bool create_communicators(ThreadId id);
  bool create_communicator(ThreadId id, CommunicatorId communicator);
  bool arrive_at_creation(ThreadId id, CommunicatorId communicator);
  bool do_host_step(ThreadId id);
  void finish_host_step(ThreadId id);
  bool synchronize(ThreadId id);
  bool await(ThreadId id);
  bool lock(ThreadId id);
  void unlock(LockId id);
  bool await_launch_queue(ThreadId id);
  void launch(ActorId id);
  void take_inputs(ActorId id, std::uint32_t k, std::uint32_t& missing);
  void take_credits(ActorId id, std::uint32_t k, std::uint32_t& missing);
  void wake(ThreadId id);
  void wake_line(ThreadLine& line);
  void join(ThreadLine& line, ThreadId id);
  void join(StreamLine& line, StreamId id);
  ThreadId leave(ThreadLine& line);

  // Durations (rules 11).
  Duration varied(Draw what, std::uint32_t id, std::uint64_t k, Duration plain) const {
    return varies_ ? options_.jitter.of(what, id, k, plain) : plain;
  }
  Duration op_takes(ActorId id, Duration plain) const {
    return varied(Draw::kOp, id.value, state_.actors[id].done, plain);
  }
  Duration call_takes(CallId id, Duration plain) const {
    return varied(Draw::kCall, id.value, act_of(id), plain);
  }

  // Messages (rules 4 and 5.1).
  void send_messages(ActorId id, std::uint32_t k, bool at_launch);
  void deliver(Message message);
  ActorId receiver(Message message) const;
  void count(Message message);
  void count_ack(EdgeId edge);
  void return_credit(RegisterId reg);
  void acknowledge_in_place(EdgeId edge);

  // Streams (rules 5.2 and 5.4).
  void advance(StreamId id);
  bool held(StreamId id, StreamId& by, std::uint32_t& until) const;
  bool held(StreamId id) const;
  void start_head(StreamId id);
  void release_dependents(StreamId id);
  void start(StreamId id, ActorId actor);
  void end_act(StreamId id);
  void end_collective(CollectiveId id);
  void finish_creation(CommunicatorId id);

  // Room (rules 5.3).
  void join_queues(StreamId id);
  bool may_start(const Device& device, const DeviceState& room, StreamId id) const;
  void dispatch(DeviceId id);
  void free_room(StreamId id, Role role);
  bool limited(DeviceId id) const { return id.valid() && plan_.devices[id].limited(); }

  // Signals and calls (rules 9.2 to 9.5).
  void fire(SignalId id);
  void op_ends_now(StreamId id);
  void start_wait(StreamId id, SignalId signal);
  void start_calls(ActorId id);
  void activate(CallId id);
  void arrive(CallId id);
  void send(CallId id);
  void receive(CallId id);
  void take_message(ChannelId id, CallId receiver);
  void meet(ChannelId id);
  void end_round(CommunicatorId id);
  void end_pair(ChannelId id);
  void end_call(CallId id);
  void finish_call(CallId id);
  void check_pair(const Sent& sent, CallId receiver);
  std::uint32_t act_of(CallId id) const { return state_.actors[plan_.calls[id].actor].done; }

  // Faults and guards (rules 10).
  void set_timers_of_plan();
  void fire(Timer timer);
  void aftermath();
  void die(RankId rank, Time at, DeathCause cause, ActorId actor = ActorId(), std::uint32_t k = 0);
  void die_in(ThreadId id, DeathCause cause);
  void end_host(RankId dead, Time at);
  void fail(ActorId actor);
  bool dies_now(ThreadId id);
  bool surfaces(ThreadId id) const;
  bool dead(RankId rank) const { return state_.health[rank] == Health::kDead; }
  bool moves(RankId rank) const { return state_.health[rank] == Health::kSound; }
  bool any_dead(CommunicatorId id) const;
  bool stopped_op(StreamId id);
  bool stopped_collective(CollectiveId id);
  bool stopped_round(CommunicatorId id);
  bool stopped_calls(std::initializer_list<CallId> calls);
  bool hangs(LinkId link, Duration takes) const;
  void set_link_error(LinkId id, StreamId stream);
  void hang(CallId id, LinkId link);
  void watch(StreamId id);
  void watchdog_looks(StreamId id, Time at);
  Time due(ActorId actor, Time launch) const;
  Time polled(Time time) const;
  void set_step_timeout(ThreadId id);
  void set_creation_timeout(ThreadId id, CommunicatorId communicator);

  void progress() { last_progress_ = queue_.now(); }
  void tell_progress() const;
  void note_enter(ActorId id);
  void note_return(ActorId id);
  void keep_times(ActorId actor, std::uint32_t k, const ActTimes& times);
  void account_unfinished();

  const Plan& plan_;
  const RunOptions& options_;
  const bool watches_enters_;
  const bool one_by_one_;  // a thread launches one act, or reads one message, at each wake
  const bool varies_;
  State state_;
  EventQueue queue_;
  Time end_of_run_ = kEndOfTime;  // what would happen then, or later, does not
  Time last_progress_{0};
  std::uint64_t acts_done_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t order_steps_ = 0;
  Fingerprint fingerprint_;
  std::vector<Mismatch> mismatches_;
  bool mismatched_ = false;  // before the moment that was restored
  TimerQueue timers_;
  bool at_rest_ = false;
  std::vector<DeviceError> device_errors_;
  std::vector<RankDeath> deaths_;
  ActTimesTable act_times_;
  std::vector<LogEntry> log_;
};

Outcome Engine::run() {
  end_of_run_ = later(options_.until, Duration{1});
  if (plan_.faulty) set_timers_of_plan();
  send_start_messages();
  RunEnd end = options_.order != nullptr ? run_order() : run_events();
  if (acts_done_ == plan_.act_count) end = RunEnd::kCompleted;
  account_unfinished();
  Outcome outcome;
  outcome.end = end;
  outcome.last_progress = last_progress_;
  outcome.acts_done = acts_done_;
  outcome.events = events_;
  outcome.order_steps = order_steps_;
  outcome.fingerprint = fingerprint_;
  outcome.mismatches = std::move(mismatches_);
  if (end == RunEnd::kStuck && !timers_.empty()) {
    outcome.state = state_;
    aftermath();
  } else {
    outcome.state = std::move(state_);
  }
  outcome.device_errors = std::move(device_errors_);
  outcome.deaths = std::move(deaths_);
  outcome.act_times = std::move(act_times_);
  outcome.log = std::move(log_);
  return outcome;
}

// The events that are given, each at its time or, if that is past, now. Then as without them.
RunEnd Engine::run_order() {
  for (const Event event : *options_.order) {
    if (!queue_.contains(event)) break;
    ++order_steps_;
    ++events_;
    while (timers_.next_time() < queue_.time_of(event)) fire(timers_.pop());
    queue_.take(event);
    handle(event);
  }
  return run_events();
}

void Engine::begin(std::vector<Event>& pending) {
  send_start_messages();
  queue_.drain(pending);
}

void Engine::step(Event event, std::vector<Event>& pending) {
  handle(event);
  queue_.drain(pending);
}

void Engine::restore(const Moment& moment) {
  state_ = moment.state;
  acts_done_ = moment.acts_done;
  mismatched_ = moment.mismatched;
  mismatches_.clear();
}

// Event after event, until there are none or something ends the run.
RunEnd Engine::run_events() {
  // How many events pass between two looks outside: about a millisecond.
  constexpr std::uint64_t kLookInterval = 1 << 14;
  while (!queue_.empty()) {
    if (timers_.next_time() < std::min(queue_.next_time(), end_of_run_)) {
      fire(timers_.pop());
      continue;
    }
    if (queue_.next_time() >= end_of_run_) {
      return end_of_run_ == kEndOfTime ? RunEnd::kTimeLimit : RunEnd::kUntil;
    }
    const bool look = events_ % kLookInterval == kLookInterval - 1;
    if (look) tell_progress();
    if (events_ == options_.max_events || (look && is_stopped(options_))) {
      return RunEnd::kInterrupted;
    }
    ++events_;
    handle(queue_.pop());
  }
  return RunEnd::kStuck;
}

inline void Engine::handle(Event event) {
  switch (event.kind) {
    case EventKind::kOpEnds:
      if (!stopped_op(StreamId{event.target})) end_act(StreamId{event.target});
      break;
    case EventKind::kCollectiveEnds:
      if (stopped_collective(CollectiveId{event.target})) break;
      end_collective(CollectiveId{event.target});
      break;
    case EventKind::kRoundEnds:
      if (!stopped_round(CommunicatorId{event.target})) end_round(CommunicatorId{event.target});
      break;
    case EventKind::kPairEnds:
      end_pair(ChannelId{event.target});
      break;
    case EventKind::kCallEnds:
      end_call(CallId{event.target});
      break;
    case EventKind::kThreadWakes:
      run_thread(ThreadId{event.target});
      break;
  }
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
  return state.missing == 0 && state.launched < actor.acts_wanted();
}

void Engine::run_thread(ThreadId id) {
  const Thread& thread = plan_.threads[id];
  ThreadState& state = state_.threads[id];
  if (dead(thread.rank)) return;
  const Step step = state.step;
  state.mode = ThreadMode::kRunning;
  state.creation_timeout = kNever;
  state.step = Step::kNone;
  if (step == Step::kHostStep) {
    finish_host_step(id);
  } else if (step == Step::kCompletion) {
    note_return(state.at);
  } else if (step != Step::kNone) {
    if (!run_from(id, after(step))) return;
  }
  bool free = false;
  if (one_by_one_ && step != Step::kNone) {
    free = pause(id);
  } else {
    free = thread.order == ThreadOrder::kProgram ? run_program(id) : run_inbox(id);
  }
  if (free) state.mode = ThreadMode::kIdle;
}

// Both do all that the thread can do, and return false where it is blocked in an act.
bool Engine::run_program(ThreadId id) {
  const Thread& thread = plan_.threads[id];
  ThreadState& state = state_.threads[id];
  const std::uint32_t length = thread.program_end - thread.program;
  while (state.next_act < length) {
    state.at = plan_.act(thread, thread.program + state.next_act);
    if (!ready(state.at)) break;
    if (!run_from(id, Step::kOutsideInput)) return false;
    if (one_by_one_) return pause(id);
  }
  return true;
}

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

// The thread has done one thing. Where it goes on, that is an event of its own, and not this one.
bool Engine::pause(ThreadId id) {
  const Thread& thread = plan_.threads[id];
  ThreadState& state = state_.threads[id];
  if (thread.order == ThreadOrder::kProgram) {
    const std::uint32_t next = thread.program + state.next_act;
    if (next == thread.program_end || !ready(plan_.act(thread, next))) return true;
  } else if (state.inbox.empty() && !(state.at.valid() && ready(state.at))) {
    return true;
  }
  state.mode = ThreadMode::kWaking;
  wake(id);
  return false;
}

// Takes the act that the thread is at from `step` on to its launch and beyond. False where the
// thread is blocked on the way; its state then says at which step.
bool Engine::run_from(ThreadId id, Step step) {
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
  launch(thread.at);
  if (plan_.threads[id].order == ThreadOrder::kProgram) ++thread.next_act;
  if (actor.blocking) return block(Step::kCompletion);
  note_return(thread.at);
  return true;
}

// All that comes before the launch, from `step` on. The step at which the thread is blocked, or
// kNone.
inline Step Engine::prepare(ThreadId id, const Actor& actor, Step step) {
  switch (step) {
    case Step::kNone:
    case Step::kOutsideInput:
      if (watches_enters_) note_enter(state_.threads[id].at);
      if (actor.input.waits && !wait_for_input(id)) return Step::kOutsideInput;
      [[fallthrough]];
    case Step::kCreation:
      if ((actor.collective.valid() || actor.role != Role::kOp) && !create_communicators(id)) {
        return Step::kCreation;
      }
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

// False where there is none.
inline bool Engine::work_before_launch(ThreadId id, const Actor& actor) {
  if (actor.launch_overhead.ns == 0 && !varies_) return false;
  const ActorId at = state_.threads[id].at;
  const Duration overhead =
      varied(Draw::kLaunch, at.value, state_.actors[at].launched, actor.launch_overhead);
  if (overhead.ns == 0) return false;
  queue_.push(later(queue_.now(), overhead), Priority::kHost, {EventKind::kThreadWakes, id.value});
  return true;
}

bool Engine::wait_for_input(ThreadId id) {
  const ActorId actor = state_.threads[id].at;
  const OutsideInput& input = plan_.actors[actor].input;
  const std::uint32_t item = state_.actors[actor].launched;
  if (item >= input.items) return false;  // it never comes, and nothing ever wakes the thread
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

// All that the act of the thread needs, one after the other. False where one keeps it blocked.
bool Engine::create_communicators(ThreadId id) {
  const ActorId actor_id = state_.threads[id].at;
  const Actor& actor = plan_.actors[actor_id];
  if (actor.collective.valid()) {
    return create_communicator(id, plan_.collectives[actor.collective].communicator);
  }
  if (actor.communicator.valid()) return create_communicator(id, actor.communicator);
  for (const CallId call : plan_.calls_of(actor_id)) {
    if (!create_communicator(id, plan_.calls[call].communicator)) return false;
  }
  return true;
}

bool Engine::create_communicator(ThreadId id, CommunicatorId communicator) {
  if (state_.communicators[communicator].exists || arrive_at_creation(id, communicator)) {
    return true;
  }
  if (plan_.communicators[communicator].creation_timeout.ns > 0) {
    set_creation_timeout(id, communicator);
  }
  return false;
}

bool Engine::arrive_at_creation(ThreadId id, CommunicatorId communicator) {
  const Actor& actor = plan_.actors[state_.threads[id].at];
  CommunicatorState& state = state_.communicators[communicator];
  const Communicator& creation = plan_.communicators[communicator];
  const auto begin = plan_.communicator_ranks.begin();
  const auto rank =
      std::lower_bound(begin + creation.ranks, begin + creation.ranks_end, actor.rank);
  std::uint8_t& arrived = state_.arrived[static_cast<std::size_t>(rank - begin)];
  const LinkId link = plan_.arrival_links[static_cast<std::size_t>(rank - begin)];
  if (link.valid() && plan_.links[link].down <= queue_.now()) {
    state_.threads[id].cut_off = link;
    return false;
  }
  progress();
  const bool last = arrived == 0 && ++state.ranks_arrived == creation.ranks_end - creation.ranks;
  arrived = 1;
  if (!last || (plan_.faulty && any_dead(communicator))) {
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
  if (state.marks > 0 || one_by_one_) join(state.blocked, id);
  if (state.marks == 0) finish_creation(communicator);
  return state.marks == 0 && !one_by_one_;
}

void Engine::finish_creation(CommunicatorId id) {
  if (plan_.faulty && any_dead(id)) return;
  state_.communicators[id].exists = true;
  wake_line(state_.communicators[id].blocked);
}

// ---------------------------------------------------------------------------------------------
// Steps of the host

// False where the step has to wait; what it waits for wakes the thread.
bool Engine::do_host_step(ThreadId id) {
  const Actor& actor = plan_.actors[state_.threads[id].at];
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
    case Role::kWork:
    case Role::kCreate:
    case Role::kOp:
    case Role::kCalls:
    case Role::kRecord:
    case Role::kWait:
      break;
  }
  return true;
}

void Engine::finish_host_step(ThreadId id) {
  ThreadState& thread = state_.threads[id];
  ActorState& actor = state_.actors[thread.at];
  const std::uint32_t k = actor.done++;
  ++actor.launched;
  ++acts_done_;
  ++thread.next_act;
  thread.step_timeout = kNever;
  progress();
  keep_times(thread.at, k, {queue_.now(), queue_.now(), queue_.now()});
  note_return(thread.at);
}

bool Engine::synchronize(ThreadId id) {
  ThreadState& thread = state_.threads[id];
  const Actor& actor = plan_.actors[thread.at];
  for (std::uint32_t i = actor.streams; i < actor.streams_end; ++i) {
    Ring<StreamItem>& items = state_.streams[plan_.synchronized[i]].items;
    if (items.empty()) continue;
    items.push(StreamItem::synchronize_mark(id));
    ++thread.marks;
  }
  return thread.marks == 0;
}

bool Engine::await(ThreadId id) {
  ThreadState& thread = state_.threads[id];
  const Actor& actor = plan_.actors[thread.at];
  SignalState& signal = state_.signals[actor.signal];
  thread.needed = plan_.signals[actor.signal].recorded() ? signal.recorded : actor.times;
  if (signal.fired >= thread.needed) return true;
  join(signal.threads, id);
  return false;
}

bool Engine::lock(ThreadId id) {
  LockState& lock = state_.locks[plan_.actors[state_.threads[id].at].lock];
  if (!lock.holder.valid()) {
    lock.holder = id;
    return true;
  }
  join(lock.waiting, id);
  return false;
}

void Engine::unlock(LockId id) {
  LockState& lock = state_.locks[id];
  lock.holder = lock.waiting.empty() ? ThreadId() : leave(lock.waiting);
  if (lock.holder.valid()) wake(lock.holder);
}

// ---------------------------------------------------------------------------------------------
// Launches

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
  if (actor.role == Role::kRecord) ++state_.signals[actor.signal].recorded;
  std::uint32_t needed = 0;
  if (actor.role == Role::kWait) needed = state_.signals[actor.signal].recorded;
  if (actor.behind.valid()) needed = state_.streams[actor.behind].launched;
  StreamState& stream = state_.streams[actor.stream];
  ++stream.launched;
  const DeviceId device = plan_.streams[actor.stream].device;
  if (limited(device)) {
    stream.push_act(StreamItem::act(id, needed), queue_.now(), state_.devices[device].launches++);
    join_queues(actor.stream);
    dispatch(device);
  } else {
    stream.push_act(StreamItem::act(id, needed), queue_.now());
    if (stream.items.size() == 1) start_head(actor.stream);
  }
  if (actor.watchdog.ns > 0) watch(actor.stream);
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
  Time time = queue_.now();
  if (varies_) {
    const auto now = static_cast<std::uint64_t>(time.ns);
    time = later(time, varied(Draw::kWake, id.value, now, Duration{0}));
  }
  queue_.push(time, Priority::kHost, {EventKind::kThreadWakes, id.value});
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

void Engine::join(StreamLine& line, StreamId id) {
  state_.streams[id].next_in_line = StreamId();
  if (line.empty()) {
    line.first = id;
  } else {
    state_.streams[line.last].next_in_line = id;
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
  if (dead(thread.rank)) return;
  if (thread.order == ThreadOrder::kArrival) {
    state.inbox.push(message);
    if (state.mode != ThreadMode::kIdle) return;
  } else {
    count(message);
    if (state.mode != ThreadMode::kIdle) return;
    const std::uint32_t next = thread.program + state.next_act;
    if (next == thread.program_end || !ready(plan_.act(thread, next))) return;
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
  return_credit(reg_id);
  if (reg.in_place.valid()) acknowledge_in_place(reg.in_place);
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
        // On a limited device dispatch() starts what may start.
        if (!limited(plan_.streams[id].device)) start_head(id);
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
      case StreamItem::Kind::kSynchronizeMark:
        items.pop();
        if (--state_.threads[head.thread()].marks == 0) wake(head.thread());
        break;
    }
  }
}

// Whether the act at the head has to wait for other streams. If so, it cannot start before `until`
// acts of stream `by` are done.
bool Engine::held(StreamId id, StreamId& by, std::uint32_t& until) const {
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
  if (!actor.behind.valid() || state_.streams[actor.behind].done >= head.needed()) return false;
  by = actor.behind;
  until = head.needed();
  return true;
}

bool Engine::held(StreamId id) const {
  StreamId by;
  std::uint32_t until = 0;
  return held(id, by, until);
}

void Engine::start_head(StreamId id) {
  StreamState& stream = state_.streams[id];
  const ActorId actor = stream.items.front().actor();
  stream.held_by = StreamId();
  if (plan_.actors[actor].waits_for_streams() && held(id, stream.held_by, stream.held_until)) {
    return;
  }
  start(id, actor);
}

// An act of the stream has ended: others may have waited for it.
void Engine::release_dependents(StreamId id) {
  const std::uint32_t done = state_.streams[id].done;
  for (std::uint32_t i = plan_.streams[id].dependents; i < plan_.streams[id].dependents_end; ++i) {
    const StreamId other = plan_.dependents[i];
    const StreamState& state = state_.streams[other];
    const bool waits = !state.items.empty() && state.head_start == kNever;
    if (state.held_by.valid()) {
      if (state.held_by == id && state.held_until <= done) start_head(other);
    } else if (waits && limited(plan_.streams[other].device)) {
      dispatch(plan_.streams[other].device);
    }
  }
}

void Engine::start(StreamId id, ActorId actor_id) {
  const Actor& actor = plan_.actors[actor_id];
  state_.streams[id].head_start = queue_.now();
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

void Engine::end_collective(CollectiveId id) {
  const Collective& collective = plan_.collectives[id];
  for (std::uint32_t i = collective.members; i < collective.members_end; ++i) {
    end_act(plan_.actors[plan_.members[i].actor].stream);
  }
}

void Engine::end_act(StreamId id) {
  StreamState& stream = state_.streams[id];
  const Time launch = stream.launch.time;
  const StreamItem item = stream.pop_act();
  const ActorId actor_id = item.actor();
  const Actor& actor = plan_.actors[actor_id];
  const std::uint32_t k = state_.actors[actor_id].done++;
  ++acts_done_;
  ++stream.done;
  progress();
  keep_times(actor_id, k, {launch, stream.head_start, queue_.now()});
  stream.head_start = kNever;
  const DeviceId device = plan_.streams[id].device;
  if (limited(device)) free_room(id, actor.role);
  send_messages(actor_id, k, false);
  if (actor.role == Role::kRecord) fire(actor.signal);
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
  release_dependents(id);
  if (limited(device)) dispatch(device);
}

// ---------------------------------------------------------------------------------------------
// Room

// What was just launched on the stream stands in the queues of its device.
void Engine::join_queues(StreamId id) {
  const Stream& stream = plan_.streams[id];
  const Device& device = plan_.devices[stream.device];
  DeviceState& room = state_.devices[stream.device];
  if (device.hardware_queues > 0) room.hardware_queues[stream.hardware_queue].push(id);
  const Ring<StreamItem>& items = state_.streams[id].items;
  const Role role = plan_.actors[items[items.size() - 1].actor()].role;
  if (device.implicit_order && role == Role::kCalls) room.launch_order.push(id);
}

bool Engine::may_start(const Device& device, const DeviceState& room, StreamId id) const {
  const StreamState& stream = state_.streams[id];
  if (stream.items.empty() || stream.head_start != kNever) return false;
  const Role role = plan_.actors[stream.items.front().actor()].role;
  if (device.hardware_queues > 0 &&
      room.hardware_queues[plan_.streams[id].hardware_queue].front() != id) {
    return false;
  }
  if (device.implicit_order && role == Role::kCalls && room.launch_order.front() != id)
    return false;
  if (device.resident > 0 && needs_slot(role) && room.resident >= device.resident) return false;
  return !held(id);
}

void Engine::dispatch(DeviceId id) {
  const Device& device = plan_.devices[id];
  DeviceState& room = state_.devices[id];
  for (;;) {
    StreamId best;
    for (std::uint32_t i = device.streams; i < device.streams_end; ++i) {
      const StreamId stream = plan_.device_streams[i];
      if (!may_start(device, room, stream)) continue;
      const std::uint32_t launch = state_.streams[stream].launch.number;
      if (!best.valid() || launch < state_.streams[best].launch.number) best = stream;
    }
    if (!best.valid()) return;
    const ActorId actor = state_.streams[best].items.front().actor();
    const Role role = plan_.actors[actor].role;
    if (needs_slot(role)) {
      ++room.resident;
      // Records and waits hold their queue up until they are done.
      if (device.hardware_queues > 0) {
        room.hardware_queues[plan_.streams[best].hardware_queue].pop();
      }
    }
    if (device.implicit_order && role == Role::kCalls) room.launch_order.pop();
    start(best, actor);
  }
}

// Gives back what an act of this role, which has left the stream, held.
void Engine::free_room(StreamId id, Role role) {
  const DeviceId device = plan_.streams[id].device;
  DeviceState& room = state_.devices[device];
  if (needs_slot(role)) {
    --room.resident;
  } else if (plan_.devices[device].hardware_queues > 0) {
    room.hardware_queues[plan_.streams[id].hardware_queue].pop();
  }
}

// ---------------------------------------------------------------------------------------------
// Signals

// Those whose need is met go on, in the order in which they came; the others stay in line.
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

void Engine::op_ends_now(StreamId id) {
  const ActorId actor = state_.streams[id].items.front().actor();
  queue_.push(later(queue_.now(), op_takes(actor, Duration{0})), Priority::kDevice,
              {EventKind::kOpEnds, id.value});
}

void Engine::start_wait(StreamId id, SignalId signal) {
  if (state_.streams[id].items.front().needed() <= state_.signals[signal].fired) {
    op_ends_now(id);
  } else {
    join(state_.signals[signal].streams, id);
  }
}

// ---------------------------------------------------------------------------------------------
// Calls

void Engine::start_calls(ActorId id) {
  state_.actors[id].calls_left = plan_.calls_of(id).size();
  for (const CallId call : plan_.calls_of(id)) state_.calls[call] = CallStage::kInactive;
  for (const CallId call : plan_.calls_of(id)) {
    if (!plan_.calls[call].after.valid()) activate(call);
  }
}

void Engine::activate(CallId id) {
  state_.calls[id] = CallStage::kActive;
  switch (plan_.calls[id].kind) {
    case CallKind::kCollective:
      return arrive(id);
    case CallKind::kSend:
      return send(id);
    case CallKind::kReceive:
      return receive(id);
  }
}

void Engine::arrive(CallId id) {
  const Call& call = plan_.calls[id];
  const Communicator& communicator = plan_.communicators[call.communicator];
  CommunicatorState& round = state_.communicators[call.communicator];
  if (round.in_round == 0) round.first = id;
  if (call.signature != plan_.calls[round.first].signature) {
    round.mismatched = true;
    const ActorId first = plan_.calls[round.first].actor;
    mismatches_.push_back(
        {false, first, act_of(round.first), call.actor, act_of(id), round.first, id});
  }
  state_.in_round[call.member] = id;
  if (++round.in_round < communicator.ranks_end - communicator.ranks || round.mismatched) return;
  Duration takes;
  for (std::uint32_t i = communicator.ranks; i < communicator.ranks_end; ++i) {
    state_.calls[state_.in_round[i]] = CallStage::kRunning;
    takes = std::max(takes, plan_.calls[state_.in_round[i]].takes);
  }
  takes = call_takes(state_.in_round[communicator.ranks], takes);
  if (hangs(communicator.link, takes)) {
    for (std::uint32_t i = communicator.ranks; i < communicator.ranks_end; ++i) {
      hang(state_.in_round[i], communicator.link);
    }
    return;
  }
  queue_.push(later(queue_.now(), takes), Priority::kDevice,
              {EventKind::kRoundEnds, call.communicator.value});
}

void Engine::end_round(CommunicatorId id) {
  const Communicator& communicator = plan_.communicators[id];
  CommunicatorState& round = state_.communicators[id];
  round.in_round = 0;
  round.first = CallId();
  for (std::uint32_t i = communicator.ranks; i < communicator.ranks_end; ++i) {
    finish_call(std::exchange(state_.in_round[i], CallId()));
  }
}

void Engine::send(CallId id) {
  const Call& call = plan_.calls[id];
  if (call.eager) {
    state_.calls[id] = CallStage::kRunning;
    const Duration takes = call_takes(id, call.takes);
    if (hangs(call.link, takes)) return hang(id, call.link);
    queue_.push(later(queue_.now(), takes), Priority::kDevice, {EventKind::kCallEnds, id.value});
    return;
  }
  state_.channels[call.channel].sender = id;
  if (state_.channels[call.channel].receiver.valid()) meet(call.channel);
}

void Engine::receive(CallId id) {
  const ChannelId channel_id = plan_.calls[id].channel;
  ChannelState& channel = state_.channels[channel_id];
  if (!channel.messages.empty()) return take_message(channel_id, id);
  channel.receiver = id;
  if (channel.sender.valid()) meet(channel_id);
}

void Engine::take_message(ChannelId id, CallId receiver) {
  check_pair(state_.channels[id].messages.pop(), receiver);
  state_.calls[receiver] = CallStage::kRunning;
  const Duration takes = call_takes(receiver, plan_.calls[receiver].takes);
  queue_.push(later(queue_.now(), takes), Priority::kDevice,
              {EventKind::kCallEnds, receiver.value});
}

// A send that waits for its receive, and that receive.
void Engine::meet(ChannelId id) {
  const ChannelState& channel = state_.channels[id];
  check_pair({channel.sender, act_of(channel.sender)}, channel.receiver);
  state_.calls[channel.sender] = CallStage::kRunning;
  state_.calls[channel.receiver] = CallStage::kRunning;
  const Duration longer =
      std::max(plan_.calls[channel.sender].takes, plan_.calls[channel.receiver].takes);
  const Duration takes = call_takes(channel.sender, longer);
  const LinkId link =
      plan_.calls[plan_.calls[channel.sender].link.valid() ? channel.sender : channel.receiver]
          .link;
  if (hangs(link, takes)) {
    hang(channel.sender, link);
    return hang(channel.receiver, link);
  }
  queue_.push(later(queue_.now(), takes), Priority::kDevice, {EventKind::kPairEnds, id.value});
}

void Engine::check_pair(const Sent& sent, CallId receiver) {
  const Call& from = plan_.calls[sent.call];
  const Call& to = plan_.calls[receiver];
  const bool fits = from.signature.count == to.signature.count &&
                    from.signature.type == to.signature.type &&
                    from.tag + from.tag_step * sent.k == to.tag + to.tag_step * act_of(receiver);
  if (fits) return;
  mismatches_.push_back(
      {true, from.actor, sent.k, to.actor, act_of(receiver), sent.call, receiver});
}

void Engine::end_pair(ChannelId id) {
  if (stopped_calls({state_.channels[id].sender, state_.channels[id].receiver})) return;
  const CallId sender = std::exchange(state_.channels[id].sender, CallId());
  const CallId receiver = std::exchange(state_.channels[id].receiver, CallId());
  finish_call(sender);
  finish_call(receiver);
}

void Engine::end_call(CallId id) {
  if (stopped_calls({id})) return;
  const Call& call = plan_.calls[id];
  if (call.kind == CallKind::kSend) {
    ChannelState& channel = state_.channels[call.channel];
    channel.messages.push({id, act_of(id)});
    const CallId receiver = std::exchange(channel.receiver, CallId());
    if (receiver.valid()) take_message(call.channel, receiver);
  }
  finish_call(id);
}

void Engine::finish_call(CallId id) {
  const Call& call = plan_.calls[id];
  state_.calls[id] = CallStage::kDone;
  progress();
  if (call.before.valid()) activate(call.before);
  if (--state_.actors[call.actor].calls_left == 0) end_act(plan_.actors[call.actor].stream);
}

// ---------------------------------------------------------------------------------------------
// Faults

void Engine::set_timers_of_plan() {
  for (std::uint32_t i = 0; i < plan_.deaths.size(); ++i) {
    timers_.push({plan_.deaths[i].at, TimerKind::kDeath, i});
  }
}

// A rank dies but once.
void Engine::die(RankId rank, Time at, DeathCause cause, ActorId actor, std::uint32_t k) {
  if (dead(rank)) return;
  state_.health[rank] = Health::kDead;
  deaths_.push_back({rank, at, cause, at_rest_, actor, k});
  if (plan_.guards.launcher.ns > 0 && cause != DeathCause::kLauncher) {
    timers_.push({later(at, plan_.guards.launcher), TimerKind::kLauncher, rank.value});
  }
}

// In the act that the thread is in.
void Engine::die_in(ThreadId id, DeathCause cause) {
  const ThreadState& thread = state_.threads[id];
  const std::uint32_t launched = state_.actors[thread.at].launched;
  const bool completing = thread.mode == ThreadMode::kBlocked && thread.step == Step::kCompletion;
  die(plan_.threads[id].rank, queue_.now(), cause, thread.at, launched - (completing ? 1 : 0));
}

// The thread is about to launch, or to do a step of the host.
bool Engine::dies_now(ThreadId id) {
  const ActorId actor = state_.threads[id].at;
  if (state_.actors[actor].launched == plan_.actors[actor].dies_at) {
    die_in(id, DeathCause::kAtAct);
  } else if (surfaces(id)) {
    die_in(id, DeathCause::kDeviceError);
  }
  return dead(plan_.threads[id].rank);
}

// Whether an error of the device shows in what the thread is about to do, or is blocked in.
bool Engine::surfaces(ThreadId id) const {
  const Actor& actor = plan_.actors[state_.threads[id].at];
  if (state_.health[actor.rank] != Health::kFailed) return false;
  if (!on_host(actor.role) || actor.role == Role::kSynchronize) return true;
  return actor.role == Role::kAwait && plan_.signals[actor.signal].recorded();
}

// The act that would end is the one that ends in an error.
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

bool Engine::any_dead(CommunicatorId id) const {
  const Communicator& communicator = plan_.communicators[id];
  const auto ranks = plan_.communicator_ranks.begin();
  return std::any_of(ranks + communicator.ranks, ranks + communicator.ranks_end,
                     [&](RankId rank) { return dead(rank); });
}

// These four: whether the event that would end something does not, because of a fault.
bool Engine::stopped_op(StreamId id) {
  if (!plan_.faulty) return false;
  if (!moves(plan_.streams[id].rank)) return true;
  const ActorId actor = state_.streams[id].items.front().actor();
  if (state_.actors[actor].done != plan_.actors[actor].fails_at) return false;
  fail(actor);
  return true;
}

bool Engine::stopped_collective(CollectiveId id) {
  if (!plan_.faulty) return false;
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

bool Engine::stopped_round(CommunicatorId id) {
  if (!plan_.faulty) return false;
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
        act_of(call));
  }
  return fatal;
}

bool Engine::stopped_calls(std::initializer_list<CallId> calls) {
  if (!plan_.faulty) return false;
  bool fatal = false;
  for (const CallId id : calls) {
    if (!moves(plan_.actors[plan_.calls[id].actor].rank)) return true;
    fatal = fatal || plan_.calls[id].fatal;
  }
  if (!fatal) return false;
  for (const CallId id : calls) {
    if (!plan_.calls[id].fatal) continue;
    const ActorId actor = plan_.calls[id].actor;
    die(plan_.actors[actor].rank, queue_.now(), DeathCause::kFatalCall, actor, act_of(id));
  }
  return true;
}

bool Engine::hangs(LinkId link, Duration takes) const {
  return link.valid() && later(queue_.now(), takes) >= plan_.links[link].down;
}

void Engine::hang(CallId id, LinkId link) {
  state_.calls[id] = CallStage::kHangs;
  set_link_error(link, plan_.actors[plan_.calls[id].actor].stream);
}

// ---------------------------------------------------------------------------------------------
// Guards

void Engine::fire(Timer timer) {
  switch (timer.kind) {
    case TimerKind::kDeath:
      die(plan_.deaths[timer.target].rank, timer.time, DeathCause::kAtTime);
      break;
    case TimerKind::kLinkError: {
      const StreamId stream{timer.target};
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
      if (timer.time != thread.step_timeout && timer.time != thread.creation_timeout) break;
      die(plan_.threads[ThreadId{timer.target}].rank, timer.time, DeathCause::kTimeout, thread.at,
          state_.actors[thread.at].launched);
      break;
    }
    case TimerKind::kLauncher:
      end_host(RankId{timer.target}, timer.time);
      break;
  }
}

// What the guards do when nothing else can happen any more.
void Engine::aftermath() {
  at_rest_ = true;
  while (timers_.next_time() < end_of_run_) fire(timers_.pop());
}

void Engine::end_host(RankId dead, Time at) {
  const std::vector<std::uint32_t>& host = plan_.guards.host;
  for (std::uint32_t rank = 0; rank < plan_.rank_count; ++rank) {
    if (host[rank] == host[dead.value]) die(RankId{rank}, at, DeathCause::kLauncher);
  }
}

// The head of the stream hangs on the link, and will for ever.
void Engine::set_link_error(LinkId id, StreamId stream) {
  const Link& link = plan_.links[id];
  if (link.retry.ns == 0) return;
  const Time since = std::max(queue_.now(), link.down);
  timers_.push({polled(later(since, link.retry)), TimerKind::kLinkError, stream.value});
}

Time Engine::polled(Time time) const {
  const std::int64_t poll = plan_.guards.poll.ns;
  if (poll == 0 || time.ns % poll == 0) return time;
  return later(time, Duration{poll - time.ns % poll});
}

// When the watchdog has waited long enough for what stands in a stream.
Time Engine::due(ActorId actor, Time launch) const {
  const Duration timeout = plan_.actors[actor].watchdog;
  return timeout.ns == 0 ? kEndOfTime : polled(later(launch, timeout));
}

// One timer per stream has to be set: for the act of it that is due first.
void Engine::watch(StreamId id) {
  StreamState& stream = state_.streams[id];
  if (stream.items.empty()) return;
  const Time time = due(stream.items.back().actor(), queue_.now());
  if (stream.watchdog != kNever && stream.watchdog <= time) return;
  stream.watchdog = time;
  timers_.push({time, TimerKind::kWatchdog, id.value});
}

void Engine::watchdog_looks(StreamId id, Time at) {
  StreamState& stream = state_.streams[id];
  if (stream.watchdog != at || dead(plan_.streams[id].rank)) return;
  stream.watchdog = kNever;
  Time next = kEndOfTime;
  LaunchTimes launches(stream);
  for (std::uint32_t i = 0; i < stream.items.size(); ++i) {
    if (stream.items[i].kind() != StreamItem::Kind::kAct) continue;
    const Time time = due(stream.items[i].actor(), launches.next());
    next = std::min(next, time);
    if (time > at) continue;
    const ActorId actor = stream.items[i].actor();
    std::uint32_t k = state_.actors[actor].done;
    for (std::uint32_t j = 0; j < i; ++j) {
      const StreamItem& item = stream.items[j];
      if (item.kind() == StreamItem::Kind::kAct && item.actor() == actor) ++k;
    }
    return die(plan_.streams[id].rank, at, DeathCause::kWatchdog, actor, k);
  }
  if (next == kEndOfTime) return;
  stream.watchdog = next;
  timers_.push({next, TimerKind::kWatchdog, id.value});
}

void Engine::set_step_timeout(ThreadId id) {
  ThreadState& thread = state_.threads[id];
  thread.step_timeout = later(queue_.now(), plan_.actors[thread.at].timeout);
  timers_.push({thread.step_timeout, TimerKind::kThread, id.value});
}

void Engine::set_creation_timeout(ThreadId id, CommunicatorId communicator) {
  ThreadState& thread = state_.threads[id];
  thread.creation_timeout = later(queue_.now(), plan_.communicators[communicator].creation_timeout);
  timers_.push({thread.creation_timeout, TimerKind::kThread, id.value});
}

// ---------------------------------------------------------------------------------------------
// Results

void Engine::tell_progress() const {
  if (options_.progress != nullptr) options_.progress->tell(acts_done_, queue_.now().ns);
}

// The thread of the actor enters its next act, which may be one beyond a source's work.
void Engine::note_enter(ActorId id) {
  const std::uint32_t k = state_.actors[id].launched;
  if (id == options_.until_actor && k == options_.until_k) {
    end_of_run_ = std::min(end_of_run_, later(queue_.now(), Duration{1}));
  }
  if (!act_times_.empty() && k < plan_.actors[id].acts) {
    act_times_.of(id, k).enter = queue_.now();
  }
  if (options_.keep_log) log_.push_back({queue_.now(), id, k, false});
}

void Engine::note_return(ActorId id) {
  if (!options_.keep_log) return;
  log_.push_back({queue_.now(), id, state_.actors[id].launched - 1, true});
}

void Engine::keep_times(ActorId actor, std::uint32_t k, const ActTimes& times) {
  fingerprint_.add(actor, k, times.launch, times.start, times.end);
  if (act_times_.empty()) return;
  ActTimes& kept = act_times_.of(actor, k);
  kept = {times.launch, times.start, times.end, kept.enter};
}

// The acts that were launched and will not end count too.
void Engine::account_unfinished() {
  IdVector<ActorId, std::uint32_t> seen(plan_.actors.size(), 0);
  for (const StreamState& stream : state_.streams) {
    LaunchTimes launches(stream);
    for (std::uint32_t i = 0; i < stream.items.size(); ++i) {
      const StreamItem& item = stream.items[i];
      if (item.kind() != StreamItem::Kind::kAct) continue;
      const std::uint32_t k = state_.actors[item.actor()].done + seen[item.actor()]++;
      keep_times(item.actor(), k, {launches.next(), i == 0 ? stream.head_start : kNever, kNever});
    }
  }
}

}  // namespace

class Stepper::Rules : public Engine {
 public:
  explicit Rules(const Plan& plan) : Engine(plan, kNoOptions, OneByOne()) {}

 private:
  static inline const RunOptions kNoOptions{};
};

Stepper::Stepper(const Plan& plan) : rules_(std::make_unique<Rules>(plan)) {
  rules_->begin(pending_);
}

Stepper::~Stepper() = default;

const State& Stepper::state() const { return rules_->state(); }
std::uint64_t Stepper::acts_done() const { return rules_->acts_done(); }
bool Stepper::mismatched() const { return rules_->mismatched(); }

void Stepper::step(std::size_t i) {
  const Event event = pending_[i];
  pending_[i] = pending_.back();
  pending_.pop_back();
  rules_->step(event, pending_);
}

void Stepper::save(Moment& moment) const {
  moment.state = rules_->state();
  moment.pending = pending_;
  moment.acts_done = acts_done();
  moment.mismatched = mismatched();
}

void Stepper::restore(const Moment& moment) {
  rules_->restore(moment);
  pending_ = moment.pending;
}

State State::initial(const Plan& plan) {
  State state;
  state.actors = IdVector<ActorId, ActorState>(plan.actors.size());
  state.registers = IdVector<RegisterId, RegisterState>(plan.registers.size());
  state.edges = IdVector<EdgeId, EdgeState>(plan.edges.size());
  state.streams = IdVector<StreamId, StreamState>(plan.streams.size());
  state.threads = IdVector<ThreadId, ThreadState>(plan.threads.size());
  state.members_started = IdVector<CollectiveId, std::uint32_t>(plan.collectives.size(), 0);
  state.hangs = IdVector<CollectiveId, std::uint8_t>(plan.collectives.size(), 0);
  state.health = IdVector<RankId, Health>(plan.rank_count, Health::kSound);
  state.communicators = IdVector<CommunicatorId, CommunicatorState>(plan.communicators.size());
  state.signals = IdVector<SignalId, SignalState>(plan.signals.size());
  state.locks = IdVector<LockId, LockState>(plan.locks.size());
  state.devices = IdVector<DeviceId, DeviceState>(plan.devices.size());
  state.calls = IdVector<CallId, CallStage>(plan.calls.size(), CallStage::kInactive);
  state.channels = IdVector<ChannelId, ChannelState>(plan.channels.size());
  state.arrived.assign(plan.communicator_ranks.size(), 0);
  state.in_round.assign(plan.communicator_ranks.size(), CallId());
  for (const DeviceId id : ids_of(plan.devices)) {
    state.devices[id].hardware_queues.resize(plan.devices[id].hardware_queues);
  }
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

Outcome run(const Plan& plan, const RunOptions& options) {
  if (options.progress != nullptr) options.progress->acts = plan.act_count;
  std::optional<Outcome> outcome;
  if (options.engine != EngineKind::kEvents && sweep_obstacle(plan, options) == nullptr) {
    outcome = sweep(plan, options);
  }
  if (!outcome) outcome = Engine(plan, options).run();
  if (options.progress != nullptr) options.progress->over = true;
  return std::move(*outcome);
}

}  // namespace pipesim::sim
