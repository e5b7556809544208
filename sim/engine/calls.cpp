// Communicators: their initialization, and the calls on them.
#include <algorithm>
#include <utility>

#include "sim/engine/engine_impl.hpp"

namespace pipesim::sim {

// ---------------------------------------------------------------------------------------------
// Communicator initialization

// Rules 3.3 and 9.3: initializes all communicators of the thread's op, in order. Returns false if
// the thread is blocked in an initialization.
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

// Rule 3.3: arrives at an initialization, if needed, and sets its timeout. Returns false if the
// thread is blocked.
bool Engine::create_communicator(ThreadId id, CommunicatorId communicator) {
  if (state_.communicators[communicator].exists || arrive_at_init(id, communicator)) {
    return true;
  }
  if (plan_.communicators[communicator].init_timeout.ns > 0) {
    set_init_timeout(id, plan_.communicators[communicator].init_timeout);
  }
  return false;
}

// Rule 3.3: arrives at the initialization. Returns false if the thread must wait for other ranks or
// for devices.
bool Engine::arrive_at_init(ThreadId id, CommunicatorId communicator) {
  const Actor& actor = plan_.actors[state_.threads[id].at];
  CommunicatorState& state = state_.communicators[communicator];
  const Communicator& init = plan_.communicators[communicator];
  const auto begin = plan_.communicator_ranks.begin();
  const auto rank = std::lower_bound(begin + init.ranks, begin + init.ranks_end, actor.rank);
  std::uint8_t& arrived = state_.arrived[static_cast<std::size_t>(rank - begin)];
  const LinkId link = plan_.arrival_links[static_cast<std::size_t>(rank - begin)];
  if (link.valid() && plan_.links[link].down <= queue_.now()) {
    state_.threads[id].cut_off = link;
    return false;
  }
  progress();
  const bool last = arrived == 0 && ++state.ranks_arrived == init.ranks_end - init.ranks;
  arrived = 1;
  if (!last || (plan_.faulty && any_dead(communicator))) {
    join(state.blocked, id);
    return false;
  }
  if (init.waits_for_device) {
    for (const StreamId stream : ids_of(plan_.streams)) {
      if (state_.streams[stream].items.empty()) continue;
      if (!std::binary_search(begin + init.ranks, begin + init.ranks_end,
                              plan_.streams[stream].rank)) {
        continue;
      }
      push(stream, StreamItem::init_mark(communicator));
      ++state.marks;
    }
  }
  if (state.marks > 0 || one_by_one_) join(state.blocked, id);
  if (state.marks == 0) finish_init(communicator);
  return state.marks == 0 && !one_by_one_;
}

// Rule 3.3: marks the communicator as initialized and wakes the blocked threads, unless a rank has
// died.
void Engine::finish_init(CommunicatorId id) {
  if (plan_.faulty && any_dead(id)) return;
  state_.communicators[id].exists = true;
  ThreadLine& blocked = state_.communicators[id].blocked;
  while (!blocked.empty()) wake(leave(blocked));
}

// ---------------------------------------------------------------------------------------------
// Calls

// Rule 9.3: starts an op of role `calls`.
void Engine::start_calls(ActorId id) {
  state_.actors[id].calls_left = plan_.calls_of(id).size();
  for (const CallId id_of_call : plan_.calls_of(id)) {
    const Call& call = plan_.calls[id_of_call];
    state_.calls[id_of_call] = CallStage::kInactive;
    if (!call.chain.valid()) continue;
    ChainState& chain = state_.chains[call.chain];
    const Chain& all = plan_.chains[call.chain];
    if (plan_.chained[all.calls] == id_of_call) chain = {all.calls, 0};
    if (call.stage == 0) ++chain.left;
  }
  for (const CallId id_of_call : plan_.calls_of(id)) {
    const Call& call = plan_.calls[id_of_call];
    if (call.chain.valid() && call.stage > 0) continue;
    if (call.chain.valid()) ++state_.chains[call.chain].next;
    activate(id_of_call);
  }
}

// Rule 9.3: activates the next stage of a chain of calls, after the current stage is done.
void Engine::begin_stage(ChainId id) {
  ChainState& chain = state_.chains[id];
  const std::uint32_t end = plan_.chains[id].calls_end;
  const std::uint32_t first = chain.next;
  if (first == end) return;
  const std::uint32_t stage = plan_.calls[plan_.chained[first]].stage;
  while (chain.next < end && plan_.calls[plan_.chained[chain.next]].stage == stage) ++chain.next;
  chain.left = chain.next - first;
  for (std::uint32_t i = first; i < first + chain.left; ++i) activate(plan_.chained[i]);
}

// Rule 9.3: activates a call.
inline void Engine::activate(CallId id) {
  if (aborted(plan_.calls[id])) return finish_aborted(id);
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

// Rule 9.4: adds a collective call to the current sequence number. Runs the calls of all ranks once
// all have arrived, unless a mismatch blocks them.
void Engine::arrive(CallId id) {
  const Call& call = plan_.calls[id];
  const Communicator& communicator = plan_.communicators[call.communicator];
  if (communicator.open) return arrive_in_open(id);
  CommunicatorState& round = state_.communicators[call.communicator];
  if (round.in_round == 0) round.first = id;
  if (call.signature != plan_.calls[round.first].signature) {
    const Signature& own = plan_.calls[round.first].signature;
    round.mismatched = round.mismatched || !can_meet(own, call.signature, communicator.on_host);
    const ActorId first = plan_.calls[round.first].actor;
    mismatches_.push_back(
        {false, first, op_of(round.first), call.actor, op_of(id), round.first, id});
  }
  state_.in_round[call.member] = id;
  if (++round.in_round < communicator.ranks_end - communicator.ranks || round.mismatched) return;
  run_round(call);
}

// Rule 9.4: runs the arrived calls of all ranks together, once none of them is stalled.
void Engine::run_round(const Call& call) {
  const Communicator& communicator = plan_.communicators[call.communicator];
  std::uint32_t& stalled = state_.communicators[call.communicator].stalled;
  for (std::uint32_t i = communicator.ranks; communicator.in_calls && i < communicator.ranks_end;
       ++i) {
    if (stalls(state_.in_round[i])) ++stalled;
  }
  if (stalled == 0) start_round(communicator, call.communicator);
}

// Rule 9.4: starts the calls at the current sequence number.
void Engine::start_round(const Communicator& communicator, CommunicatorId id) {
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
  queue_.push(later(queue_.now(), takes), Priority::kDevice, {EventKind::kRoundEnds, id.value});
}

// Rule 9.5: notes that a call has met its peers. Returns true if the call cannot advance, because
// no thread of its rank is inside the library.
bool Engine::stalls(CallId id) {
  const RankId rank = plan_.actors[plan_.calls[id].actor].rank;
  state_.calls[id] = CallStage::kMet;
  for (const ThreadId thread : ids_of(plan_.threads)) {
    if (plan_.threads[thread].rank == rank && is_in_library(thread)) return false;
  }
  state_.stalled[rank].push_back(id);
  return true;
}

// Rule 9.5: whether a thread is blocked inside its library, or is about to be.
bool Engine::is_in_library(ThreadId id) const {
  const ThreadState& thread = state_.threads[id];
  if (!thread.at.valid() || !plan_.actors[thread.at].in_library) return false;
  if (thread.mode == ThreadMode::kRunning) {
    return plan_.actors[thread.at].blocking || on_host(plan_.actors[thread.at].role);
  }
  return thread.mode == ThreadMode::kBlocked &&
         (thread.step == Step::kCompletion || thread.step == Step::kHostStep);
}

// Rule 9.5: lets the stalled calls of a rank advance, because a thread enters the library.
void Engine::advance_library(RankId rank) {
  for (const CallId id : std::exchange(state_.stalled[rank], {})) {
    const Call& call = plan_.calls[id];
    if (call.kind == CallKind::kCollective) {
      const Communicator& communicator = plan_.communicators[call.communicator];
      if (--state_.communicators[call.communicator].stalled == 0) {
        start_round(communicator, call.communicator);
      }
      continue;
    }
    const ChannelId channel = met_on(id);
    if (--state_.channels[channel].stalled == 0) run_pair(channel);
  }
}

// Returns the channel on which a send or recv has met its peer.
ChannelId Engine::met_on(CallId id) const {
  const Channel& own = plan_.channels[plan_.calls[id].channel];
  for (std::uint32_t i = own.sources; i < own.sources_end; ++i) {
    if (state_.channels[plan_.sources[i]].receiver == id) return plan_.sources[i];
  }
  return plan_.calls[id].channel;
}

// Rule 9.4: completes the calls of the current sequence number.
void Engine::end_round(CommunicatorId id) {
  const Communicator& communicator = plan_.communicators[id];
  CommunicatorState& round = state_.communicators[id];
  round.in_round = 0;
  round.first = CallId();
  for (std::uint32_t i = communicator.ranks; i < communicator.ranks_end; ++i) {
    finish_call(std::exchange(state_.in_round[i], CallId()));
  }
}

// Rule 9.5: activates a send.
inline void Engine::send(CallId id) {
  const Call& call = plan_.calls[id];
  ChannelState& channel = state_.channels[call.channel];
  if (call.buffered || (call.steps > 0 && channel.steps + call.steps <= kChannelSteps)) {
    return run_buffered(id);
  }
  channel.sender = id;
  if (channel.receiver.valid()) return meet(call.channel);
  come(call.channel);
}

// Rule 9.5: runs a buffered send.
inline void Engine::run_buffered(CallId id) {
  const Call& call = plan_.calls[id];
  state_.channels[call.channel].steps += call.steps;
  state_.calls[id] = CallStage::kRunning;
  const Duration takes = call_takes(id, call.takes);
  if (hangs(call.link, takes)) return hang(id, call.link);
  queue_.push(later(queue_.now(), takes), Priority::kDevice, {EventKind::kCallEnds, id.value});
}

// Rule 9.5: activates a recv.
inline void Engine::receive(CallId id) {
  const ChannelId channel_id = plan_.calls[id].channel;
  ChannelState& channel = state_.channels[channel_id];
  if (plan_.calls[id].from_any()) {
    channel.receiver = id;
    return find_source(channel_id);
  }
  if (!channel.came.empty()) channel.came.pop();
  if (!channel.messages.empty()) return take_message(channel_id, id);
  channel.receiver = id;
  if (channel.sender.valid()) meet(channel_id);
}

// Rule 9.5: offers a send, or its message, to a recv from any rank, if the receiving rank has such
// recvs.
void Engine::come(ChannelId id) {
  const ChannelId any = plan_.channels[id].any;
  if (!any.valid()) return;
  state_.channels[id].came.push(queue_.now());
  if (state_.channels[any].receiver.valid()) find_source(any);
}

// Rule 9.5: gives a recv from any rank the earliest send; ties go to the lowest rank, because
// sources are sorted by rank. In a stepper, makes the choice of each source a pending event
// instead.
void Engine::find_source(ChannelId any) {
  const Channel& channel = plan_.channels[any];
  ChannelId first;
  for (std::uint32_t i = channel.sources; i < channel.sources_end; ++i) {
    const ChannelId id = plan_.sources[i];
    ChannelState& source = state_.channels[id];
    if (source.came.empty()) continue;
    if (!first.valid() || source.came.front() < state_.channels[first].came.front()) first = id;
    if (!one_by_one_ || source.offered) continue;
    source.offered = true;
    queue_.push(queue_.now(), Priority::kDevice, {EventKind::kSourceTaken, id.value});
  }
  if (first.valid() && !one_by_one_) take_source(first);
}

// Rule 9.5: gives a recv from any rank a send of this source.
void Engine::take_source(ChannelId id) {
  const Channel& any = plan_.channels[plan_.channels[id].any];
  for (std::uint32_t i = any.sources; i < any.sources_end && one_by_one_; ++i) {
    const Event other{EventKind::kSourceTaken, plan_.sources[i].value};
    state_.channels[plan_.sources[i]].offered = false;
    if (queue_.contains(other)) queue_.take(other);
  }
  ChannelState& channel = state_.channels[id];
  const CallId receiver = std::exchange(state_.channels[plan_.channels[id].any].receiver, CallId());
  channel.came.pop();
  if (!channel.messages.empty()) return take_message(id, receiver);
  channel.receiver = receiver;
  meet(id);
}

// Rule 9.5: gives a recv the oldest message of its channel, and runs a waiting send if the buffer
// now has space for it.
void Engine::take_message(ChannelId id, CallId receiver) {
  ChannelState& channel = state_.channels[id];
  const Sent sent = channel.messages.pop();
  const Call& from = plan_.calls[sent.call];
  check_pair(sent, receiver);
  if (is_short(sent.call, receiver)) {
    state_.calls[receiver] = CallStage::kShort;
  } else {
    state_.calls[receiver] = CallStage::kRunning;
    // A buffered message has already spent its send time on the way into the buffer.
    const Duration before = from.steps > 0 ? from.takes : Duration{0};
    const Duration rest{std::max<std::int64_t>(0, plan_.calls[receiver].takes.ns - before.ns)};
    queue_.push(later(queue_.now(), call_takes(receiver, rest)), Priority::kDevice,
                {EventKind::kCallEnds, receiver.value});
  }
  channel.steps -= from.steps;
  if (from.steps == 0 || !channel.sender.valid()) return;
  const std::uint32_t steps = plan_.calls[channel.sender].steps;
  if (steps == 0 || channel.steps + steps > kChannelSteps) return;
  run_buffered(std::exchange(channel.sender, CallId()));
}

// Rule 9.5: runs an unbuffered send and its recv together, once neither is stalled.
void Engine::meet(ChannelId id) {
  ChannelState& channel = state_.channels[id];
  check_pair({channel.sender, op_of(channel.sender)}, channel.receiver);
  if (plan_.communicators[plan_.channels[id].communicator].in_calls) {
    for (const CallId call : {channel.sender, channel.receiver}) {
      if (stalls(call)) ++channel.stalled;
    }
    if (channel.stalled > 0) return;
  }
  run_pair(id);
}

// Rule 9.5: runs an unbuffered send and its recv together.
void Engine::run_pair(ChannelId id) {
  const ChannelState& channel = state_.channels[id];
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

// Rule 9.5: records a mismatch if a send and its recv differ.
void Engine::check_pair(const Sent& sent, CallId receiver) {
  const Call& from = plan_.calls[sent.call];
  const Call& to = plan_.calls[receiver];
  const bool fits = from.signature.count == to.signature.count &&
                    from.signature.type == to.signature.type &&
                    from.tag + from.tag_step * sent.k == to.tag + to.tag_step * op_of(receiver);
  if (fits) return;
  mismatches_.push_back({true, from.actor, sent.k, to.actor, op_of(receiver), sent.call, receiver});
}

// Rule 9.5: whether the recv never ends. On devices, the recv waits for more data than was sent; on
// hosts, the recv has no space for all the data.
bool Engine::is_short(CallId sender, CallId receiver) const {
  const std::int64_t sent = plan_.calls[sender].signature.count;
  const std::int64_t wanted = plan_.calls[receiver].signature.count;
  const bool on_host = plan_.communicators[plan_.calls[receiver].communicator].on_host;
  return on_host ? sent > wanted : sent < wanted;
}

// Rule 9.5: ends a send and a recv that have met.
void Engine::end_pair(ChannelId id) {
  if (plan_.faulty && stopped_calls({state_.channels[id].sender, state_.channels[id].receiver})) {
    return;
  }
  const CallId sender = std::exchange(state_.channels[id].sender, CallId());
  const CallId receiver = std::exchange(state_.channels[id].receiver, CallId());
  finish_call(sender);
  if (is_short(sender, receiver)) {
    state_.calls[receiver] = CallStage::kShort;
  } else {
    finish_call(receiver);
  }
}

// Rules 9.4 and 9.5: ends a buffered send, a recv that took a message, or a collective call that
// runs alone.
void Engine::end_call(CallId id) {
  const Call& call = plan_.calls[id];
  if (aborted(call)) {
    if (!plan_.faulty || moves(plan_.actors[call.actor].rank)) finish_call(id);
    return;
  }
  if (plan_.faulty && stopped_calls({id})) return;
  if (call.kind == CallKind::kSend) {
    ChannelState& channel = state_.channels[call.channel];
    channel.messages.push({id, op_of(id)});
    const CallId receiver = std::exchange(channel.receiver, CallId());
    if (!receiver.valid()) come(call.channel);
    if (receiver.valid()) take_message(call.channel, receiver);
  }
  if (call.kind == CallKind::kCollective) leave_open(call);
  finish_call(id);
}

// Rule 9.3: completes a call. The last call of a stage activates the next stage of its chain; the
// last call of an op ends the op.
void Engine::finish_call(CallId id) {
  const Call& call = plan_.calls[id];
  state_.calls[id] = CallStage::kDone;
  progress();
  if (call.chain.valid() && --state_.chains[call.chain].left == 0) begin_stage(call.chain);
  if (--state_.actors[call.actor].calls_left == 0) end_op(plan_.actors[call.actor].stream);
}

}  // namespace pipesim::sim
