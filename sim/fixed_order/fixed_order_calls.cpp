// Calls on communicators, and meetings of hosts, in a run in fixed order.
#include <algorithm>
#include <utility>

#include "sim/fixed_order/fixed_order_run.hpp"

namespace pipesim::sim {

// ---------------------------------------------------------------------------------------------
// Calls

void FixedOrderRun::begin_stage(ChainId id) {
  ChainRun& chain = chains_[id];
  const std::uint32_t end = plan_.chains[id].calls_end;
  const std::uint32_t first = chain.next;
  if (first == end) return;
  const std::uint32_t stage = plan_.calls[plan_.chained[first]].stage;
  while (chain.next < end && plan_.calls[plan_.chained[chain.next]].stage == stage) ++chain.next;
  const std::uint32_t last = chain.next;
  chain.left = last - first;
  const std::int64_t time = chain.latest;
  for (std::uint32_t i = first; i < last; ++i) activate(plan_.chained[i], time);
}

void FixedOrderRun::activate(CallId id, std::int64_t time) {
  const Call& call = plan_.calls[id];
  const std::uint32_t k = ops_[call.actor].done;
  switch (call.kind) {
    case CallKind::kCollective:
      return arrive(id, time);
    case CallKind::kReceive:
      channels_[call.channel].receiver = {time, id, k};
      return receive(id, time);
    case CallKind::kSend:
      break;
  }
  ChannelRun& channel = channels_[call.channel];
  if (call.buffered || (call.steps > 0 && has_space(channel, id, time))) {
    return run_buffered(id, k, time);
  }
  channel.sender = {time, id, k};
  if (channel.receiver.call.valid() && call.steps == 0) meet(call.channel);
}

// Whether the buffer has space for the send after the recvs that have already run. If so, moves
// `time`, when the send becomes active, to the moment when the buffer has space. Recvs take
// messages in order, so the last recv needed determines the time.
bool FixedOrderRun::has_space(const ChannelRun& channel, CallId send, std::int64_t& time) const {
  std::uint32_t steps = channel.steps + plan_.calls[send].steps;
  if (steps > kChannelSteps) return false;
  for (std::uint32_t i = channel.taken.size(); i > 0; --i) {
    steps += channel.taken[i - 1].steps;
    if (steps <= kChannelSteps) continue;
    time = std::max(time, channel.taken[i - 1].time);
    break;
  }
  return true;
}

void FixedOrderRun::run_buffered(CallId send, std::uint32_t k, std::int64_t time) {
  const Call& call = plan_.calls[send];
  ChannelRun& channel = channels_[call.channel];
  const std::int64_t end = sum(time, call.takes.ns);
  channel.messages.push({end, send, k});
  channel.steps += call.steps;
  if (channel.receiver.call.valid()) receive(channel.receiver.call, channel.receiver.time);
  end_call(send, end);
}

void FixedOrderRun::arrive(CallId id, std::int64_t time) {
  const Call& call = plan_.calls[id];
  const Communicator& communicator = plan_.communicators[call.communicator];
  RoundRun& round = rounds_[call.communicator];
  if (round.arrived == 0) round.first = id;
  if (call.signature != plan_.calls[round.first].signature) failed_ = true;
  round.latest = std::max(round.latest, time);
  round.takes = std::max(round.takes, call.takes.ns);
  round_calls_[call.member] = id;
  if (failed_ || ++round.arrived < communicator.ranks_end - communicator.ranks) return;
  const std::int64_t end = sum(round.latest, round.takes);
  round = RoundRun();
  for (std::uint32_t i = communicator.ranks; i < communicator.ranks_end; ++i) {
    end_call(round_calls_[i], end);
  }
}

// Takes a message, or meets a waiting send; otherwise the recv waits.
void FixedOrderRun::receive(CallId id, std::int64_t time) {
  const Call& call = plan_.calls[id];
  ChannelRun& channel = channels_[call.channel];
  if (channel.messages.empty()) {
    if (channel.sender.call.valid()) meet(call.channel);
    return;
  }
  const Arrival message = channel.messages.pop();
  const Call& from = plan_.calls[message.call];
  if (!fits(message, channel.receiver)) failed_ = true;
  channel.receiver.call = CallId();
  const std::int64_t took = std::max(time, message.time);
  std::int64_t takes = call.takes.ns;
  if (from.steps > 0) {
    takes = std::max<std::int64_t>(0, takes - from.takes.ns);
    channel.steps -= from.steps;
    channel.taken.push({took, from.steps});
    if (channel.taken.size() > kChannelSteps) channel.taken.pop();
    Arrival& next = channel.sender;
    const bool waits = next.call.valid() && plan_.calls[next.call].steps > 0;
    if (waits && has_space(channel, next.call, next.time)) {
      const Arrival send = std::exchange(next, Arrival());
      run_buffered(send.call, send.k, send.time);
    }
  }
  end_call(id, sum(took, takes));
}

void FixedOrderRun::meet(ChannelId id) {
  const Arrival sender = std::exchange(channels_[id].sender, Arrival());
  const Arrival receiver = std::exchange(channels_[id].receiver, Arrival());
  if (!fits(sender, receiver)) failed_ = true;
  const std::int64_t takes =
      std::max(plan_.calls[sender.call].takes.ns, plan_.calls[receiver.call].takes.ns);
  const std::int64_t end = sum(std::max(sender.time, receiver.time), takes);
  end_call(sender.call, end);
  end_call(receiver.call, end);
}

bool FixedOrderRun::fits(const Arrival& sent, const Arrival& received) const {
  const Call& from = plan_.calls[sent.call];
  const Call& to = plan_.calls[received.call];
  return from.signature.count == to.signature.count && from.signature.type == to.signature.type &&
         from.tag + from.tag_step * sent.k == to.tag + to.tag_step * received.k;
}

void FixedOrderRun::end_call(CallId id, std::int64_t time) {
  const Call& call = plan_.calls[id];
  const ThreadId thread_id = plan_.actors[call.actor].thread;
  ThreadRun& thread = threads_[thread_id];
  thread.finish = std::max(thread.finish, time);
  if (--thread.calls_left == 0) queue(thread_id);
  if (!call.chain.valid()) return;
  ChainRun& chain = chains_[call.chain];
  chain.latest = std::max(chain.latest, time);
  if (--chain.left == 0) begin_stage(call.chain);
}

// ---------------------------------------------------------------------------------------------
// Meetings of hosts

// Joins the meetings that connect the ranks of `actor` at first use. Returns false if the thread
// must wait; the thread calls this function again once it can continue.
bool FixedOrderRun::connect(ThreadId id, ThreadRun& thread, const Actor& actor) {
  std::uint32_t i = actor.needs;
  while (i < actor.needs_end) {
    const MeetingKind kind = plan_.meetings[plan_.needs[i].meeting].kind;
    std::int64_t latest = thread.now;
    bool all = true;
    for (; i < actor.needs_end && plan_.meetings[plan_.needs[i].meeting].kind == kind; ++i) {
      const Need& need = plan_.needs[i];
      std::uint32_t& joined = joined_[need.join];
      if (joined == 0) {
        joined = ++came_[need.member];
        come(need.meeting, joined, thread.now);
      }
      all = has_met(id, need.meeting, joined, latest) && all;
    }
    if (!all) return false;
    thread.now = latest;
  }
  return true;
}

bool FixedOrderRun::meet(ThreadId id, ThreadRun& thread, const Actor& actor) {
  for (std::uint32_t i = actor.streams; i < actor.streams_end; ++i) {
    thread.now = std::max(thread.now, streams_[plan_.synchronized[i]].end);
  }
  const Need& need = plan_.needs[actor.needs];
  if (thread.meeting == 0) {
    thread.meeting = ++came_[need.member];
    come(need.meeting, thread.meeting, thread.now);
  }
  if (!has_met(id, need.meeting, thread.meeting, thread.now)) return false;
  thread.meeting = 0;
  return true;
}

// Records the arrival of a rank at a meeting, for the `number`-th time. If all ranks have arrived,
// queues the threads that wait for them.
void FixedOrderRun::come(MeetingId id, std::uint32_t number, std::int64_t time) {
  MeetingRun& meeting = meetings_[id];
  if (meeting.gatherings.size() < number) meeting.gatherings.resize(number);
  MeetingRun::Gathering& gathering = meeting.gatherings[number - 1];
  gathering.latest = std::max(gathering.latest, time);
  last_ = std::max(last_, time);
  if (++gathering.arrived < plan_.meetings[id].ranks_end - plan_.meetings[id].ranks) return;
  for (const ThreadId thread : std::exchange(meeting.waiting, {})) queue(thread);
}

// Whether all ranks have arrived at the meeting for the `number`-th time. If so, raises `time` to
// the arrival of the last rank; otherwise the thread waits.
bool FixedOrderRun::has_met(ThreadId thread, MeetingId id, std::uint32_t number,
                            std::int64_t& time) {
  MeetingRun& meeting = meetings_[id];
  const MeetingRun::Gathering& gathering = meeting.gatherings[number - 1];
  if (gathering.arrived == plan_.meetings[id].ranks_end - plan_.meetings[id].ranks) {
    time = std::max(time, gathering.latest);
    return true;
  }
  meeting.waiting.push_back(thread);
  return false;
}

}  // namespace pipesim::sim
