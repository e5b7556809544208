#include "sim/fixed_order.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "sim/determinacy.hpp"
#include "sim/fixed_order/fixed_order_run.hpp"
#include "sim/meeting_layout.hpp"

namespace pipesim::sim {
namespace {

const char* obstacle_of_communicators(const Plan& plan) {
  if (plan.open) return "a rank may leave a collective before all others have arrived";
  for (const Communicator& communicator : plan.communicators) {
    if (!communicator.at_first_use) continue;
    // The first thread of a rank to arrive represents the rank, so timing matters.
    for (std::uint32_t i = communicator.users + 1; i < communicator.users_end; ++i) {
      const Actor& a = plan.actors[plan.communicator_users[i - 1]];
      const Actor& b = plan.actors[plan.communicator_users[i]];
      if (a.rank == b.rank && a.thread != b.thread) {
        return "two threads of a rank initialize a communicator";
      }
    }
  }
  for (const Collective& collective : plan.collectives) {
    for (std::uint32_t i = collective.members; i < collective.members_end; ++i) {
      if (!plan.members[i].actor.valid()) return "a collective lacks a member";
    }
  }
  return nullptr;
}

}  // namespace

FixedOrderRun::FixedOrderRun(const Plan& plan, const RunOptions& options)
    : plan_(plan),
      options_(options),
      ops_(plan.actors.size()),
      threads_(plan.threads.size()),
      streams_(plan.streams.size()),
      channels_(plan.channels.size()),
      chains_(plan.chains.size()),
      rounds_(plan.communicators.size()),
      inits_(plan.communicators.size()),
      collectives_(plan.collectives.size()),
      meetings_(plan.meetings.size()),
      came_(plan.meeting_ranks.size(), 0),
      joined_(plan.join_count, 0),
      signals_(plan.signals.size()),
      round_calls_(plan.communicator_ranks.size()),
      queue_(plan.threads.size()) {
  for (const ActorId id : ids_of(plan.actors)) make_op(id);
  make_channels();
  for (const ActorId id : ids_of(plan.actors)) make_short(id);
  keep_ends();
  for (const ThreadId id : ids_of(plan.threads)) {
    threads_[id].next = plan.threads[id].program;
    threads_[id].end = plan.threads[id].program_end;
    threads_[id].first_actor = plan.threads[id].first_actor.value;
    threads_[id].first_actor_of_rank = plan.threads[id].first_actor_of_rank.value;
  }
  limit_queues();
  if (options.keep_op_times) keep_times();
}

void FixedOrderRun::make_op(ActorId id) {
  const Actor& actor = plan_.actors[id];
  Op& op = ops_[id];
  op.role = actor.role;
  op.blocking = actor.blocking;
  op.is_collective = actor.collective.valid();
  op.stream = actor.stream;
  op.behind = actor.behind;
  op.call = actor.calls;
  op.call_end = actor.calls_end;
  op.afters = actor.afters;
  op.afters_end = actor.afters_end;
  op.takes = actor.takes.ns;
  op.joins = joins_at_first_op(plan_, id);
  op.plain_entry = !actor.input.waits && actor.launch_overhead.ns == 0 && !on_host(actor.role);
}

// Sets `is_short` and `alike` of channels. In a channel with one sending and one receiving call,
// the n-th op of the sender matches the n-th op of the receiver.
void FixedOrderRun::make_channels() {
  struct EndsOf {
    CallId sender;
    CallId receiver;
  };
  IdVector<ChannelId, EndsOf> ends(plan_.channels.size());
  for (const CallId id : ids_of(plan_.calls)) {
    const Call& call = plan_.calls[id];
    if (call.kind == CallKind::kCollective) continue;
    ChannelRun& channel = channels_[call.channel];
    const Op& op = ops_[call.actor];
    const bool sends = call.kind == CallKind::kSend;
    if (op.call_end - op.call != 1 || !op.plain_entry || (sends && !call.buffered)) {
      channel.is_short = false;
    }
    CallId& own = sends ? ends[call.channel].sender : ends[call.channel].receiver;
    if (own.valid()) channel.alike = false;
    own = id;
  }
  for (const ChannelId id : ids_of(plan_.channels)) {
    const auto& [sender, receiver] = ends[id];
    channels_[id].alike = channels_[id].alike && sender.valid() && receiver.valid() &&
                          plan_.calls[sender].tag_step == plan_.calls[receiver].tag_step &&
                          fits({0, sender, 0}, {0, receiver, 0});
  }
}

void FixedOrderRun::make_short(ActorId id) {
  Op& op = ops_[id];
  if (!op.plain_entry || op.is_collective) return;
  if (op.role == Role::kOp) op.kind = Short::kCompute;
  if (op.role != Role::kCalls || op.call_end - op.call != 1) return;
  const Call& call = plan_.calls[CallId{op.call}];
  if (call.kind == CallKind::kCollective || !channels_[call.channel].is_short) return;
  op.kind = call.kind == CallKind::kSend ? Short::kSend : Short::kReceive;
  op.channel = call.channel;
  op.takes = call.takes.ns;
}

void FixedOrderRun::keep_ends() {
  for (const ActorId id : ids_of(plan_.actors)) {
    for (std::uint32_t i = ops_[id].afters; i < ops_[id].afters_end; ++i) {
      Op& op = ops_[plan_.afters[i].actor];
      if (op.ends == kNone) {
        op.ends = static_cast<std::uint32_t>(ends_.size());
        ends_.emplace_back();
      } else {
        ends_[op.ends].in_order = false;
      }
    }
  }
}

// Sets up the launch queues that can fill up. A queue with a place for every op of its stream
// cannot.
void FixedOrderRun::limit_queues() {
  IdVector<StreamId, std::uint64_t> ops(plan_.streams.size(), 0);
  for (const Actor& actor : plan_.actors) {
    if (actor.stream.valid()) ops[actor.stream] += actor.ops;
  }
  for (const Device& device : plan_.devices) {
    if (device.launch_queue == 0) continue;
    for (std::uint32_t i = device.streams; i < device.streams_end; ++i) {
      StreamRun& stream = streams_[plan_.device_streams[i]];
      stream.limited = true;
      stream.device_queue = static_cast<std::uint32_t>(device_queues_.size());
    }
    device_queues_.push_back({device.launch_queue, {}});
  }
  for (const StreamId id : ids_of(plan_.streams)) {
    const Stream& stream = plan_.streams[id];
    if (stream.shares_queue || ops[id] <= stream.launch_queue) continue;
    streams_[id].limited = true;
    streams_[id].queue = static_cast<std::uint32_t>(queues_.size());
    queues_.emplace_back(plan_.streams[id].launch_queue, 0);
  }
}

void FixedOrderRun::keep_times() {
  op_times_ = OpTimesTable(plan_, options_.last_times_of);
  for (const ActorId id : ids_of(plan_.actors)) {
    if (plan_.actors[id].ops == 0) continue;
    ops_[id].times = &op_times_.of(id, 0);
    ops_[id].keeps_all = op_times_.keeps_all(id);
  }
}

std::optional<Outcome> FixedOrderRun::run() {
  // Number of turns between two checks of RunOptions::stop.
  constexpr std::uint64_t kLookInterval = 1 << 12;
  std::uint64_t turns = 0;
  for (const ThreadId id : ids_of(plan_.threads)) go_on(id);
  while (!queue_.empty() && !failed_) {
    go_on(ThreadId{queue_.pop()});
    if (++turns % kLookInterval != 0) continue;
    if (options_.progress != nullptr) options_.progress->tell(ops_done_, last_);
    if (is_stopped(options_)) return std::nullopt;
  }
  if (failed_ || ops_done_ != plan_.op_count) return std::nullopt;
  Outcome outcome;
  outcome.end = RunEnd::kCompleted;
  outcome.last_progress = Time{last_};
  outcome.ops_done = ops_done_;
  outcome.digests = RankDigests(plan_.rank_count);
  for (const ThreadId id : ids_of(threads_)) {
    outcome.digests[plan_.threads[id].rank].add(threads_[id].digest);
  }
  outcome.state = final_state();
  outcome.op_times = std::move(op_times_);
  outcome.in_fixed_order = true;
  return outcome;
}

// Queues a thread. The last thread runs first: in a pipeline it has the least slack, so the other
// threads find much to do while their data is in the cache. With 512 stages, this order takes half
// the time of the other orders that were measured.
void FixedOrderRun::queue(ThreadId id) {
  if (!on_turn(id)) queue_.add(id.value);
}

void FixedOrderRun::go_on(ThreadId id) {
  turn_ = id;
  ThreadRun& thread = threads_[id];
  bool goes_on = true;
  const std::uint32_t* const program = plan_.program.data();
  while (goes_on && thread.next < thread.end && !failed_) {
    // Programs are read once, at a rate that the hardware prefetcher does not keep up with.
    __builtin_prefetch(program + std::min(thread.next + kAhead, thread.end - 1));
    const ActorId actor{thread.first_actor + program[thread.next]};
    Op& op = ops_[actor];
    goes_on =
        op.kind == Short::kNone ? step(id, thread, actor, op) : short_step(id, thread, actor, op);
  }
  turn_ = ThreadId();
}

// Runs a whole op whose kind is not Short::kNone. Returns false if the thread must wait; the op is
// then unchanged, except that the host may have joined meetings. Forced inline: most of a run is
// spent in this function and the few lines of go_on().
[[gnu::always_inline]] inline bool FixedOrderRun::short_step(ThreadId id, ThreadRun& thread,
                                                             ActorId actor, Op& op) {
  if (op.joins) {
    if (thread.stage == Stage::kEnter) {
      thread.enter = thread.now;
      thread.stage = Stage::kJoin;
    }
    if (!join(id, thread, actor, op)) return false;
  }
  const std::int64_t enter = thread.stage == Stage::kEnter ? thread.now : thread.enter;
  std::int64_t launch = 0;
  std::int64_t start = 0;
  if (!find_start(thread, op, launch, start)) return false;
  std::int64_t from = start;
  if (op.kind == Short::kReceive) {
    ChannelRun& channel = channels_[op.channel];
    if (channel.messages.empty()) {
      channel.waiting = id;
      return false;
    }
    const Arrival message = channel.messages.pop();
    from = std::max(from, message.time);
    if (!channel.alike && !fits(message, {0, CallId{op.call}, op.done})) failed_ = true;
  }
  const std::int64_t end = sum(from, op.takes);
  if (op.kind == Short::kSend) {
    ChannelRun& channel = channels_[op.channel];
    channel.messages.push({end, CallId{op.call}, op.done});
    if (channel.waiting.valid()) queue(std::exchange(channel.waiting, ThreadId()));
  }
  thread.now = op.blocking ? end : launch;
  thread.stage = Stage::kEnter;
  ++thread.next;
  record(thread, actor, op, {{launch}, {start}, {end}, {enter}});
  return true;
}

// Advances the current op. Returns false if the thread must wait for an unknown time.
bool FixedOrderRun::step(ThreadId id, ThreadRun& thread, ActorId actor_id, Op& op) {
  if (thread.stage < Stage::kStart) {
    if (op.plain_entry && !op.joins) {
      thread.enter = thread.now;
    } else if (!enter(id, thread, actor_id, op)) {
      return false;
    }
    if (on_host(op.role)) {
      end_op(thread, actor_id, op);
      return true;
    }
    thread.stage = Stage::kStart;
  }
  if (thread.stage == Stage::kStart) {
    if (!start(thread, op)) return false;
    thread.stage = Stage::kRunning;
    begin(thread, actor_id, op);
  }
  if (thread.calls_left > 0) return false;
  end_op(thread, actor_id, op);
  return true;
}

// Runs everything before the launch queue; for a host step, the whole step. Returns false if the
// thread must wait.
bool FixedOrderRun::enter(ThreadId id, ThreadRun& thread, ActorId actor_id, Op& op) {
  const Actor& actor = plan_.actors[actor_id];
  if (thread.stage == Stage::kEnter) {
    thread.enter = thread.now;
    if (actor.input.waits) {
      if (op.done >= actor.input.items) return false;  // the input never arrives
      const std::int64_t every = actor.input.every.ns;
      if (every > 0 && op.done > kEndOfTime.ns / every) failed_ = true;
      if (failed_) return false;
      thread.now = std::max(thread.now, sum(actor.input.first.ns, every * op.done));
    }
    thread.stage = Stage::kJoin;
  }
  if (thread.stage < Stage::kEntered) {
    if (op.joins && !join(id, thread, actor_id, op)) return false;
    thread.now = sum(thread.now, actor.launch_overhead.ns);
    thread.stage = Stage::kEntered;
  }
  return !on_host(actor.role) || host_step(id, thread, actor);
}

// Initializes the communicators and sets up the connections of the op's calls, once per actor.
// Returns false if the thread must wait.
bool FixedOrderRun::join(ThreadId id, ThreadRun& thread, ActorId actor_id, Op& op) {
  const Actor& actor = plan_.actors[actor_id];
  if (!create(id, thread, actor)) return false;
  if (actor.role == Role::kCalls && !connect(id, thread, actor)) return false;
  op.joins = false;
  return true;
}

bool FixedOrderRun::create(ThreadId id, ThreadRun& thread, const Actor& actor) {
  if (actor.collective.valid()) {
    return create(id, thread, plan_.collectives[actor.collective].communicator);
  }
  if (actor.communicator.valid()) return create(id, thread, actor.communicator);
  for (std::uint32_t call = actor.calls; call < actor.calls_end; ++call) {
    if (!create(id, thread, plan_.calls[CallId{call}].communicator)) return false;
  }
  return true;
}

bool FixedOrderRun::create(ThreadId id, ThreadRun& thread, CommunicatorId communicator) {
  const Communicator& from = plan_.communicators[communicator];
  InitRun& init = inits_[communicator];
  const std::uint32_t ranks = from.ranks_end - from.ranks;
  if (!from.at_first_use) return true;
  if (init.arrived == ranks) {
    thread.now = std::max(thread.now, init.latest);
    return true;
  }
  const auto& waiting = init.waiting;
  if (std::find(waiting.begin(), waiting.end(), id) != waiting.end()) return false;
  init.latest = std::max(init.latest, thread.now);
  last_ = std::max(last_, thread.now);
  if (++init.arrived < ranks) {
    init.waiting.push_back(id);
    return false;
  }
  thread.now = std::max(thread.now, init.latest);
  for (const ThreadId other : init.waiting) queue(other);
  return true;
}

bool FixedOrderRun::host_step(ThreadId id, ThreadRun& thread, const Actor& actor) {
  switch (actor.role) {
    case Role::kSynchronize:
      for (std::uint32_t i = actor.streams; i < actor.streams_end; ++i) {
        thread.now = std::max(thread.now, streams_[plan_.synchronized[i]].end);
      }
      break;
    case Role::kAwait:
      if (!await(id, thread, actor)) return false;
      break;
    case Role::kSet:
      fire(actor.signal, thread.now);
      break;
    case Role::kMeet:
      if (!meet(id, thread, actor)) return false;
      break;
    default:
      break;
  }
  thread.launch = thread.start = thread.finish = thread.now;
  return true;
}

bool FixedOrderRun::await(ThreadId id, ThreadRun& thread, const Actor& actor) {
  SignalRun& signal = signals_[actor.signal];
  if (plan_.signals[actor.signal].recorded()) {
    thread.now = std::max(thread.now, signal.last);
    return true;
  }
  if (actor.times == 0) return true;
  if (signal.times.size() < actor.times) {
    signal.waiting.push_back(id);
    return false;
  }
  thread.now = std::max(thread.now, signal.times[actor.times - 1]);
  return true;
}

// Computes the times at which the current op is launched and starts. Returns false if the thread
// must wait for an unknown time.
bool FixedOrderRun::start(ThreadRun& thread, const Op& op) {
  if (!find_start(thread, op, thread.launch, thread.start)) return false;
  thread.now = thread.launch;
  return true;
}

inline bool FixedOrderRun::find_start(const ThreadRun& thread, const Op& op, std::int64_t& launch,
                                      std::int64_t& start) {
  const StreamRun& stream = streams_[op.stream];
  launch = thread.now;
  if (stream.limited) launch = when_place_is_free(stream, launch);
  start = std::max(launch, stream.end);
  if (op.behind.valid()) start = std::max(start, streams_[op.behind].end);
  return op.afters == op.afters_end || wait_for_ops(op, start);
}

// Returns the earliest time, at or after `time`, at which the stream's launch queues have a free
// place.
std::int64_t FixedOrderRun::when_place_is_free(const StreamRun& stream, std::int64_t time) const {
  if (stream.queue != kNone) time = std::max(time, queues_[stream.queue][stream.slot]);
  if (stream.device_queue == kNone) return time;
  const DeviceQueueRun& queue = device_queues_[stream.device_queue];
  return queue.latest.size() < queue.limit ? time : std::max(time, queue.latest.top());
}

// Adds an op that ends at `end` to the launch queues.
void FixedOrderRun::take_place(StreamRun& stream, std::int64_t end) {
  if (stream.queue != kNone) {
    std::vector<std::int64_t>& queue = queues_[stream.queue];
    queue[stream.slot] = end;
    if (++stream.slot == queue.size()) stream.slot = 0;
  }
  if (stream.device_queue != kNone) {
    DeviceQueueRun& queue = device_queues_[stream.device_queue];
    queue.latest.push(end);
    if (queue.latest.size() > queue.limit) queue.latest.pop();
  }
}

// Raises `start` to the ends of the ops that `op` waits for on other streams. Returns false if such
// an end is unknown; if that op comes later in the same program, the end stays unknown.
inline bool FixedOrderRun::wait_for_ops(const Op& op, std::int64_t& start) {
  for (std::uint32_t i = op.afters; i < op.afters_end; ++i) {
    const After& after = plan_.afters[i];
    KeptEnds& kept = ends_[ops_[after.actor].ends];
    const std::uint32_t k = op.done + after.ahead;
    if (k >= kept.first + kept.ends.size()) return false;
    while (kept.in_order && kept.first < k) {
      kept.ends.pop();
      ++kept.first;
    }
    start = std::max(start, kept.ends[k - kept.first]);
  }
  return true;
}

void FixedOrderRun::begin(ThreadRun& thread, ActorId id, Op& op) {
  thread.calls_left = 0;
  if (op.role == Role::kCalls) {
    thread.calls_left = op.call_end - op.call;
    thread.finish = thread.start;
    for (std::uint32_t call = op.call; call < op.call_end; ++call) {
      const ChainId chain = plan_.calls[CallId{call}].chain;
      if (!chain.valid()) {
        activate(CallId{call}, thread.start);
      } else if (plan_.chained[plan_.chains[chain].calls] == CallId{call}) {
        chains_[chain] = {plan_.chains[chain].calls, 0, thread.start};
        begin_stage(chain);
      }
    }
  } else if (op.is_collective) {
    begin_collective(thread, id);
  } else if (op.role == Role::kWait) {
    thread.finish = std::max(thread.start, signals_[plan_.actors[id].signal].last);
  } else {
    thread.finish = sum(thread.start, op.takes);
    if (op.role == Role::kRecord) fire(plan_.actors[id].signal, thread.finish);
  }
}

void FixedOrderRun::begin_collective(ThreadRun& thread, ActorId id) {
  const CollectiveId collective_id = plan_.actors[id].collective;
  const Collective& collective = plan_.collectives[collective_id];
  RoundRun& round = collectives_[collective_id];
  round.latest = std::max(round.latest, thread.start);
  thread.calls_left = 1;
  if (++round.arrived < collective.members_end - collective.members) return;
  const std::int64_t end = sum(round.latest, collective.takes.ns);
  round = RoundRun();
  for (std::uint32_t i = collective.members; i < collective.members_end; ++i) {
    const ThreadId member = plan_.actors[plan_.members[i].actor].thread;
    threads_[member].finish = end;
    threads_[member].calls_left = 0;
    queue(member);
  }
}

// ---------------------------------------------------------------------------------------------
// Ends

void FixedOrderRun::end_op(ThreadRun& thread, ActorId id, Op& op) {
  ++thread.next;
  thread.stage = Stage::kEnter;
  if (op.blocking) thread.now = thread.finish;
  record(thread, id, op, {{thread.launch}, {thread.start}, {thread.finish}, {thread.enter}});
}

// Records the times and the end of an op. Forced inline, with times passed in registers: reading
// times back right after storing them one by one would stall the processor.
[[gnu::always_inline]] inline void FixedOrderRun::record(ThreadRun& thread, ActorId id, Op& op,
                                                         const OpTimes& times) {
  const std::uint32_t k = op.done++;
  ++ops_done_;
  last_ = std::max(last_, times.end.ns);
  if (op.stream.valid()) {
    StreamRun& stream = streams_[op.stream];
    stream.end = times.end.ns;
    if (stream.limited) take_place(stream, times.end.ns);
  }
  if (op.ends != kNone) ends_[op.ends].ends.push(times.end.ns);
  thread.digest.add(id.value - thread.first_actor_of_rank, k, times.launch, times.start, times.end);
  if (op.times == nullptr) return;
  *op.times = times;
  op.times += op.keeps_all ? 1 : 0;
  __builtin_prefetch(op.times + 1, 1);
}

void FixedOrderRun::fire(SignalId id, std::int64_t time) {
  SignalRun& signal = signals_[id];
  ++signal.fired;
  signal.last = time;
  if (plan_.signals[id].recorded()) return;
  signal.times.push_back(time);
  for (const ThreadId thread : std::exchange(signal.waiting, {})) queue(thread);
}

// Returns the state that the event engine would leave after a complete run.
State FixedOrderRun::final_state() const {
  State state = State::initial(plan_);
  for (const ActorId id : ids_of(plan_.actors)) {
    state.actors[id].launched = state.actors[id].done = plan_.actors[id].ops;
    if (plan_.actors[id].ops == 0) continue;
    for (const CallId call : plan_.calls_of(id)) state.calls[call] = CallStage::kDone;
    if (!plan_.actors[id].stream.valid()) continue;
    StreamState& stream = state.streams[plan_.actors[id].stream];
    stream.launched = stream.done += plan_.actors[id].ops;
  }
  for (const ThreadId id : ids_of(plan_.threads)) {
    state.threads[id].next_op = plan_.threads[id].program_end - plan_.threads[id].program;
  }
  for (const SignalId id : ids_of(plan_.signals)) {
    state.signals[id].fired = signals_[id].fired;
    if (plan_.signals[id].recorded()) state.signals[id].recorded = signals_[id].fired;
  }
  for (const CommunicatorId id : ids_of(plan_.communicators)) {
    const Communicator& communicator = plan_.communicators[id];
    if (!communicator.at_first_use || inits_[id].arrived == 0) continue;
    state.communicators[id].exists = true;
    state.communicators[id].ranks_arrived = inits_[id].arrived;
    std::fill(state.arrived.begin() + communicator.ranks,
              state.arrived.begin() + communicator.ranks_end, std::uint8_t{1});
  }
  state.came = came_;
  state.joined = joined_;
  for (const MeetingId id : ids_of(plan_.meetings)) {
    const std::uint32_t ranks = plan_.meetings[id].ranks_end - plan_.meetings[id].ranks;
    for (const MeetingRun::Gathering& gathering : meetings_[id].gatherings) {
      if (gathering.arrived == ranks) ++state.meetings[id].met;
    }
  }
  for (const ChannelId id : ids_of(plan_.channels)) {
    state.channels[id].steps = channels_[id].steps;
    Ring<Arrival> messages = channels_[id].messages;
    while (!messages.empty()) {
      const Arrival message = messages.pop();
      state.channels[id].messages.push({message.call, message.k});
    }
  }
  return state;
}

const char* fixed_order_obstacle(const Plan& plan, const RunOptions& options) {
  if (options.keep_log || options.until != kEndOfTime || options.until_actor.valid() ||
      options.max_events != std::numeric_limits<std::uint64_t>::max()) {
    return "the order of events was requested";
  }
  if (options.order != nullptr) return "an order of events is given";
  if (options.jitter.varies()) return "durations vary from op to op";
  if (const char* obstacle = determinacy_obstacle(plan)) return obstacle;
  // Timing decides nothing in these plans either, but the fixed-order run does not implement them.
  if (!plan.edges.empty()) return "actors wait for data or credits";
  if (std::any_of(plan.actors.begin(), plan.actors.end(),
                  [](const Actor& actor) { return actor.drains; })) {
    return "a host waits for the calls of a communicator";
  }
  const bool limited = std::any_of(plan.devices.begin(), plan.devices.end(),
                                   [](const Device& device) { return device.limited(); });
  if (limited) return "a device limits what runs at the same time";
  if (!plan.lines.empty()) return "calls of a communicator are on several streams";
  const bool arrival = std::any_of(plan.actors.begin(), plan.actors.end(), [&](const Actor& actor) {
    return plan.threads[actor.thread].order == ThreadOrder::kArrival && actor.ops > 0;
  });
  if (arrival) return "a thread launches ops in the order in which their inputs arrive";
  return obstacle_of_communicators(plan);
}

std::optional<Outcome> run_in_fixed_order(const Plan& plan, const RunOptions& options) {
  return FixedOrderRun(plan, options).run();
}

}  // namespace pipesim::sim
