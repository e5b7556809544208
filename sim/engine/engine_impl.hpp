// The engine's state and methods, for the source files of this folder only.
//
// engine.cpp       the event loop and results     rules 2, 3.6, 6, 8
// threads.cpp      host threads                   rules 3.2, 3.4, 9.1
// streams.cpp      messages, launches, streams    rules 2, 3.5, 4, 5, 9.2
// calls.cpp        communicators and calls        rules 3.3, 9.3 to 9.5
// open_rounds.cpp  calls on open communicators    rule 9.4
// aborts.cpp       aborts of communicators        rule 9.9
// meetings.cpp     meetings of hosts              rule 9.7
// faults.cpp       faults and timers              rule 10
// stepper.cpp      the engine one event at a time
//
// This file defines functions that several files use or most events need. An `inline` function that
// is only declared here is defined and used in one file. With `inline`, the compiler optimizes the
// engine as if it were one file, which saves 10 % of a run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "sim/engine.hpp"
#include "sim/event_queue.hpp"
#include "sim/meeting_layout.hpp"
#include "sim/state.hpp"
#include "sim/stepper.hpp"
#include "sim/timer_queue.hpp"

namespace pipesim::sim {

class Engine {
 public:
  Engine(const Plan& plan, const RunOptions& options)
      : Engine(plan, options, options.order != nullptr) {}

  Outcome run();

  // Methods for the stepper.
  struct OneByOne {};
  Engine(const Plan& plan, const RunOptions& options, OneByOne) : Engine(plan, options, true) {}
  void begin(std::vector<Event>& pending);
  void step(Event event, std::vector<Event>& pending);
  const State& state() const { return state_; }
  std::uint64_t ops_done() const { return ops_done_; }
  bool mismatched() const { return mismatched_ || !mismatches_.empty(); }
  void restore(const Moment& moment);

 private:
  Engine(const Plan& plan, const RunOptions& options, bool one_by_one)
      : plan_(plan),
        options_(options),
        watches_enters_(options.keep_op_times || options.keep_log || options.until_actor.valid()),
        one_by_one_(one_by_one),
        varies_(options.jitter.varies()),
        limits_(std::any_of(plan.devices.begin(), plan.devices.end(),
                            [](const Device& device) { return device.limited(); })),
        state_(State::initial(plan)),
        joins_(plan.actors.size()),
        digests_(plan.threads.size()) {
    for (const ActorId id : ids_of(plan.actors)) joins_[id] = joins_at_first_op(plan, id) ? 1 : 0;
    if (options.keep_op_times) op_times_ = OpTimesTable(plan, options.last_times_of);
  }

  RunEnd run_order();
  RunEnd run_events();
  void handle(Event event);
  void prefetch_next() const;

  // Methods that run host threads and launch their ops.
  void send_start_messages();
  void run_thread(ThreadId id);
  bool pause(ThreadId id);
  bool run_program(ThreadId id);
  bool run_inbox(ThreadId id);
  inline bool run_from(ThreadId id, Step step);
  inline Step prepare(ThreadId id, const Actor& actor, Step step);
  inline Step join_hosts(ThreadId id);
  inline bool work_before_launch(ThreadId id, const Actor& actor);
  bool wait_for_input(ThreadId id);
  bool do_host_step(ThreadId id);
  inline void finish_host_step(ThreadId id);
  bool synchronize(ThreadId id);
  bool drain(ThreadId id);
  bool await(ThreadId id);
  bool lock(ThreadId id);
  void unlock(LockId id);
  inline bool await_launch_queue(ThreadId id);
  void launch(ActorId id);
  inline void take_inputs(ActorId id, std::uint32_t k, std::uint32_t& missing);
  inline void take_credits(ActorId id, std::uint32_t k, std::uint32_t& missing);

  // Whether the next op of the actor is ready (rule 3.1).
  bool ready(ActorId id) const {
    const Actor& actor = plan_.actors[id];
    const ActorState& state = state_.actors[id];
    return state.missing == 0 && state.launched < actor.wanted;
  }

  void wake(ThreadId id) {
    Time time = queue_.now();
    if (varies_) {
      const auto now = static_cast<std::uint64_t>(time.ns);
      time = later(time, varied(Draw::kWake, id.value, now, Duration{0}));
    }
    queue_.push(time, Priority::kHost, {EventKind::kThreadWakes, id.value});
  }

  // The launch queue of a stream: its own queue, or the queue of its device (rule 3.4).
  struct LaunchQueue {
    std::uint32_t& unfinished;
    ThreadLine& waiting;
  };
  LaunchQueue launch_queue(StreamId id) {
    if (plan_.streams[id].shares_queue) {
      DeviceState& device = state_.devices[plan_.streams[id].device];
      return {device.unfinished, device.waiting};
    }
    return {state_.streams[id].unfinished, state_.streams[id].waiting};
  }

  // Methods that add to and remove from a ThreadLine or StreamLine.
  void join(ThreadLine& line, ThreadId id) {
    state_.threads[id].next_in_line = ThreadId();
    if (line.empty()) {
      line.first = id;
    } else {
      state_.threads[line.last].next_in_line = id;
    }
    line.last = id;
  }
  void join(StreamLine& line, StreamId id) {
    state_.streams[id].next_in_line = StreamId();
    if (line.empty()) {
      line.first = id;
    } else {
      state_.streams[line.last].next_in_line = id;
    }
    line.last = id;
  }
  ThreadId leave(ThreadLine& line) {
    const ThreadId first = line.first;
    line.first = state_.threads[first].next_in_line;
    return first;
  }

  // Methods that return the duration `plain`, varied by the jitter (rule 11).
  Duration varied(Draw what, std::uint32_t id, std::uint64_t k, Duration plain) const {
    return varies_ ? options_.jitter.of(what, id, k, plain) : plain;
  }
  Duration op_takes(ActorId id, Duration plain) const {
    return varied(Draw::kOp, id.value, state_.actors[id].done, plain);
  }
  Duration call_takes(CallId id, Duration plain) const {
    return varied(Draw::kCall, id.value, op_of(id), plain);
  }

  // Methods that send, deliver and count messages.
  void send_messages(ActorId id, std::uint32_t k, bool at_launch);
  inline void deliver(Message message, ThreadId id);
  inline void deliver_ack(EdgeId edge);
  ActorId receiver(Message message) const;
  void count(Message message);
  void count_ack(EdgeId edge);
  void return_credit(RegisterId reg);
  void acknowledge_in_place(EdgeId edge);

  // Methods for the queues of streams, and for the ops at their heads.
  void push(StreamId id, StreamItem item) { state_.streams[id].items.push(state_.blocks, item); }
  void pop(StreamId id) { state_.streams[id].items.pop(state_.blocks); }
  inline void advance(StreamId id);
  inline bool held(StreamId id, StreamId& by, std::uint32_t& until) const;
  inline bool held(StreamId id) const;
  inline void start_head(StreamId id);
  inline void release_dependents(StreamId id);
  inline void start(StreamId id, ActorId actor);
  void end_op(StreamId id);
  void end_collective(CollectiveId id);

  // Methods for limited devices, and for recvs from any rank.
  void join_queues(StreamId id, ActorId actor);
  bool may_start(const Device& device, const DeviceState& device_state, StreamId id) const;
  void dispatch(DeviceId id);
  void start_on(DeviceId id, StreamId stream);
  void start_offered(StreamId id);
  void come(ChannelId id);
  void find_source(ChannelId any);
  void take_source(ChannelId id);
  void free_slots(StreamId id, ActorId actor);

  // Methods for lines of communicators (rule 9.3), see struct Line.
  void join_lines(StreamId id, const Actor& actor);
  void leave_lines(const Actor& actor);
  void start_in_lines(const Actor& actor);
  bool limited(DeviceId id) const { return limits_ && id.valid() && plan_.devices[id].limited(); }

  // Methods for events that streams record and wait for (rule 9.2).
  void fire(SignalId id);
  void op_ends_now(StreamId id);
  void start_wait(StreamId id, SignalId signal);

  // Methods for communicator initialization and for calls.
  bool create_communicators(ThreadId id);
  bool create_communicator(ThreadId id, CommunicatorId communicator);
  bool arrive_at_init(ThreadId id, CommunicatorId communicator);
  void finish_init(CommunicatorId id);
  void start_calls(ActorId id);
  void begin_stage(ChainId id);
  inline void activate(CallId id);
  void arrive(CallId id);
  void arrive_in_open(CallId id);
  void run_round(const Call& call);
  void start_round(const Communicator& communicator, CommunicatorId id);
  bool stalls(CallId id);
  bool is_in_library(ThreadId id) const;
  void advance_library(RankId rank);
  ChannelId met_on(CallId id) const;
  void run_alone(CallId id);
  void leave_open(const Call& call);
  inline void send(CallId id);
  inline void receive(CallId id);
  inline void run_buffered(CallId id);
  void take_message(ChannelId id, CallId receiver);
  void meet(ChannelId id);
  void run_pair(ChannelId id);
  void end_round(CommunicatorId id);
  void end_pair(ChannelId id);
  void end_call(CallId id);
  void finish_call(CallId id);
  void check_pair(const Sent& sent, CallId receiver);
  bool is_short(CallId sender, CallId receiver) const;
  std::uint32_t op_of(CallId id) const { return state_.actors[plan_.calls[id].actor].done; }

  // Methods for communicators that a rank aborts (rule 9.9).
  void abort(ThreadId id);
  void abandon(CallId id);
  void cut(CallId id);
  void finish_aborted(CallId id);
  bool is_void(Event event) const;
  bool aborted(const Call& call) const { return plan_.aborts && state_.aborted[call.member] != 0; }
  bool broken(CommunicatorId id) const { return plan_.aborts && state_.communicators[id].broken; }

  // Methods for meetings of hosts (rule 9.7).
  bool connect(ThreadId id);
  bool meet(ThreadId id);
  bool come(ThreadId id, const Need& need, std::uint32_t number, bool is_new);
  void finish_meeting(MeetingId id);

  // Methods for faults and timers (rule 10).
  void set_timers_of_plan();
  void fire(Timer timer);
  void teardown();
  void die(RankId rank, Time at, DeathCause cause, ActorId actor = ActorId(), std::uint32_t k = 0);
  void die_in(ThreadId id, DeathCause cause);
  void end_host(RankId dead, Time at);
  void fail(ActorId actor);
  bool dies_now(ThreadId id);
  bool surfaces(ThreadId id) const;
  bool dead(RankId rank) const { return plan_.faulty && state_.health[rank] == Health::kDead; }
  bool moves(RankId rank) const { return state_.health[rank] == Health::kSound; }
  bool any_dead(CommunicatorId id) const;
  bool any_dead(const Meeting& meeting) const;
  bool stopped_op(StreamId id);
  bool stopped_collective(CollectiveId id);
  bool stopped_round(CommunicatorId id);
  bool stopped_calls(std::initializer_list<CallId> calls);
  void set_link_error(LinkId id, StreamId stream);
  void hang(CallId id, LinkId link);
  bool hangs_at_head(StreamId id) const;
  void watch(StreamId id, ActorId actor);
  void watchdog_looks(StreamId id, Time at);
  Time due(ActorId actor, Time launch) const;
  Time polled(Time time) const;
  void set_step_timeout(ThreadId id);
  void set_init_timeout(ThreadId id, Duration timeout);

  // Whether the link goes down before an op that begins now has ended (rule 10.4).
  bool hangs(LinkId link, Duration takes) const {
    return link.valid() && later(queue_.now(), takes) >= plan_.links[link].down;
  }

  // Methods that record results.
  void progress() { last_progress_ = queue_.now(); }
  void tell_progress() const;
  void note_enter(ActorId id);
  void note_return(ActorId id);
  void keep_times(ActorId actor, std::uint32_t k, const OpTimes& times);
  void account_unfinished();

  // Distances, in events, at which prefetch_next() looks ahead.
  static constexpr std::uint32_t kNear = 1;
  static constexpr std::uint32_t kFar = 3;

  const Plan& plan_;
  const RunOptions& options_;
  const bool watches_enters_;
  const bool one_by_one_;  // whether a woken thread runs only one op or reads only one message
  const bool varies_;
  const bool limits_;  // whether some device is limited
  State state_;
  // Per actor: 1 if its next op can block before its launch, waiting for hosts of other ranks. A
  // stepper, which goes back in time, keeps the 1 after the first op.
  IdVector<ActorId, std::uint8_t> joins_;
  EventQueue queue_;
  Time end_of_run_ = kEndOfTime;  // events at or after this time do not happen
  Time last_progress_{0};
  std::uint64_t ops_done_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t order_steps_ = 0;
  IdVector<ThreadId, RankDigest> digests_;  // digest of the ops that a thread launched
  std::vector<Mismatch> mismatches_;
  bool mismatched_ = false;  // whether the restored moment had a mismatch
  TimerQueue timers_;
  bool quiescent_ = false;
  std::vector<DeviceError> device_errors_;
  std::vector<RankDeath> deaths_;
  OpTimesTable op_times_;
  std::vector<LogEntry> log_;
};

// Prefetches state for the next events, because the state of a large run is mostly outside the near
// caches. Fetches a stream first, and later the data that the stream refers to.
inline void Engine::prefetch_next() const {
  if (const Event* event = queue_.ahead(kFar); event != nullptr) {
    if (event->kind == EventKind::kOpEnds) {
      __builtin_prefetch(&state_.streams[StreamId{event->target}]);
      __builtin_prefetch(&plan_.streams[StreamId{event->target}]);
    } else if (event->kind == EventKind::kThreadWakes) {
      __builtin_prefetch(&state_.threads[ThreadId{event->target}]);
    }
  }
  const Event* event = queue_.ahead(kNear);
  if (event == nullptr || event->kind != EventKind::kOpEnds) return;
  const StreamState& stream = state_.streams[StreamId{event->target}];
  const ActorId head = stream.items.front().actor();
  __builtin_prefetch(&plan_.actors[head]);
  __builtin_prefetch(&state_.actors[head]);
  stream.items.prefetch(state_.blocks);
  const Stream& fixed = plan_.streams[StreamId{event->target}];
  for (std::uint32_t i = fixed.dependents; i < fixed.dependents_end; ++i) {
    __builtin_prefetch(&state_.streams[plan_.dependents[i]]);
  }
}

// Handles an event (rule 2).
inline void Engine::handle(Event event) {
  if (plan_.aborts && is_void(event)) return;
  switch (event.kind) {
    case EventKind::kOpEnds:
      if (plan_.faulty && stopped_op(StreamId{event.target})) break;
      end_op(StreamId{event.target});
      break;
    case EventKind::kCollectiveEnds:
      if (plan_.faulty && stopped_collective(CollectiveId{event.target})) break;
      end_collective(CollectiveId{event.target});
      break;
    case EventKind::kRoundEnds:
      if (plan_.faulty && stopped_round(CommunicatorId{event.target})) break;
      end_round(CommunicatorId{event.target});
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
    case EventKind::kOpStarts:
      start_offered(StreamId{event.target});
      break;
    case EventKind::kSourceTaken:
      take_source(ChannelId{event.target});
      break;
  }
}

// Records the times of an op (rule 8).
inline void Engine::keep_times(ActorId actor, std::uint32_t k, const OpTimes& times) {
  const ThreadId thread = plan_.actors[actor].thread;
  const std::uint32_t number = actor.value - plan_.threads[thread].first_actor_of_rank.value;
  digests_[thread].add(number, k, times.launch, times.start, times.end);
  if (op_times_.empty()) return;
  OpTimes& kept = op_times_.of(actor, k);
  kept = {times.launch, times.start, times.end, kept.enter};
}

// Logs the return from an op (rule 3.6).
inline void Engine::note_return(ActorId id) {
  if (!options_.keep_log) return;
  log_.push_back({queue_.now(), id, state_.actors[id].launched - 1, true});
}

// Rule 3.2: returns the actor that becomes the thread's current actor when it reads the message.
inline ActorId Engine::receiver(Message message) const {
  switch (message.kind()) {
    case Message::Kind::kStart:
      return message.actor();
    case Message::Kind::kData:
      return plan_.edges[message.edge()].consumer;
    case Message::Kind::kAck:
      break;
  }
  return plan_.edges[message.edge()].producer;
}

// Counts a message that a thread has read (rule 4.3).
inline void Engine::count(Message message) {
  if (message.kind() == Message::Kind::kData) {
    const EdgeId edge = message.edge();
    if (state_.edges[edge].available++ == 0) --state_.actors[plan_.edges[edge].consumer].missing;
  } else if (message.kind() == Message::Kind::kAck) {
    count_ack(message.edge());
  }
}

}  // namespace pipesim::sim
