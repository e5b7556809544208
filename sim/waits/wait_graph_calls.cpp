// The edges of calls on communicators, of their initialization, and of meetings of hosts.
#include <algorithm>
#include <iterator>

#include "sim/waits/wait_graph_builder.hpp"

namespace pipesim::sim {
namespace {

bool same_sort(const Call& a, const Call& b) {
  return a.communicator == b.communicator && a.kind == b.kind &&
         (a.kind == CallKind::kCollective || a.peer == b.peer || a.from_any());
}

WaitKind kind_of(MeetingKind kind) {
  switch (kind) {
    case MeetingKind::kMessage:
      return WaitKind::kFirstMessage;
    case MeetingKind::kCollective:
      return WaitKind::kFirstCollective;
    case MeetingKind::kHosts:
      break;
  }
  return WaitKind::kHostMeeting;
}

}  // namespace

// Rule 9.6.3: adds the edges of an actor's active calls.
void WaitGraphBuilder::add_calls(ActorId actor) {
  for (const CallId id : plan_.calls_of(actor)) {
    const CallStage stage = state_.calls[id];
    if (stage == CallStage::kInactive || stage == CallStage::kDone) continue;
    call_ = id;
    add_call(id);
  }
  call_ = CallId();
}

void WaitGraphBuilder::add_call(CallId id) {
  const CallStage stage = state_.calls[id];
  const Call& call = plan_.calls[id];
  if (stage == CallStage::kMet) return add_stalled(id);
  if (call.kind == CallKind::kCollective) {
    if (plan_.communicators[call.communicator].open && stage != CallStage::kRunning) {
      add_open_round(id);
    } else {
      add_round(id);
    }
    return;
  }
  if (stage == CallStage::kRunning || stage == CallStage::kHangs) return add_met(id);
  if (call.from_any()) return add_sources(call);
  Call wanted = call;
  wanted.kind = call.kind == CallKind::kSend ? CallKind::kReceive : CallKind::kSend;
  wanted.peer = call.member;
  add_coming(WaitKind::kPeerOfMessage, call.peer, wanted);
}

// Adds the edges of a call that has met its peers: to the next calls of the ranks whose library
// does not advance.
void WaitGraphBuilder::add_stalled(CallId id) {
  const Call& call = plan_.calls[id];
  std::vector<CallId> together;
  if (call.kind == CallKind::kCollective) {
    const Communicator& communicator = plan_.communicators[call.communicator];
    const auto begin = state_.in_round.begin();
    together.assign(begin + communicator.ranks, begin + communicator.ranks_end);
  } else {
    const ChannelState& channel = state_.channels[channel_of(id)];
    together = {channel.sender, channel.receiver};
  }
  for (const CallId other : together) {
    const RankId rank = plan_.actors[plan_.calls[other].actor].rank;
    const std::vector<CallId>& stalled = state_.stalled[rank];
    if (std::find(stalled.begin(), stalled.end(), other) != stalled.end()) add_progress(rank);
  }
}

// Adds edges to the steps in which a rank is next inside its library.
void WaitGraphBuilder::add_progress(RankId rank) {
  if (dead(rank)) return add_rank(WaitKind::kProgress, rank);
  const std::size_t before = edges_.size();
  for (const ActorId id : ids_of(plan_.actors)) {
    const Actor& actor = plan_.actors[id];
    const std::uint32_t next = state_.actors[id].launched;
    if (actor.rank != rank || !actor.in_library || next == actor.ops) continue;
    add_op(WaitKind::kProgress, id, next);
  }
  if (edges_.size() == before) add(WaitKind::kProgress, op_nodes_ + rank.value);
  make_any_set(before);
}

// Adds the edges of a recv from any rank, as an ANY set. The edges lead to the ranks that still
// have a send for the recv or, if there are none, to all other ranks.
void WaitGraphBuilder::add_sources(const Call& call) {
  Call wanted = call;
  wanted.kind = CallKind::kSend;
  wanted.peer = call.member;
  const std::size_t before = edges_.size();
  const Channel& any = plan_.channels[call.channel];
  for (std::uint32_t i = any.sources; i < any.sources_end; ++i) {
    const std::uint32_t from = plan_.channels[plan_.sources[i]].from;
    const std::size_t here = edges_.size();
    add_coming(WaitKind::kPeerOfMessage, from, wanted);
    if (edges_[here].to == op_nodes_ + plan_.communicator_ranks[from].value) edges_.resize(here);
  }
  const Communicator& communicator = plan_.communicators[call.communicator];
  for (std::uint32_t i = communicator.ranks; i < communicator.ranks_end; ++i) {
    if (edges_.size() > before && edges_[before].to < op_nodes_) break;
    if (i != call.member) add_rank(WaitKind::kPeerOfMessage, plan_.communicator_ranks[i]);
  }
  make_any_set(before);
}

// Returns the channel on which the call has met its peer.
ChannelId WaitGraphBuilder::channel_of(CallId id) const {
  const Channel& own = plan_.channels[plan_.calls[id].channel];
  for (std::uint32_t i = own.sources; i < own.sources_end; ++i) {
    if (state_.channels[plan_.sources[i]].receiver == id) return plan_.sources[i];
  }
  return plan_.calls[id].channel;
}

// Adds the edges of a send or recv that runs and never ends.
void WaitGraphBuilder::add_met(CallId id) {
  const Call& call = plan_.calls[id];
  const ChannelState& channel = state_.channels[channel_of(id)];
  const CallId other = call.kind == CallKind::kSend ? channel.receiver : channel.sender;
  const ActorId actor = other.valid() ? plan_.calls[other].actor : ActorId();
  if (actor.valid() && !call.buffered && call.steps == 0 && !moves(plan_.actors[actor].rank)) {
    add_op(WaitKind::kPeerOfMessage, actor, state_.actors[actor].done);
  }
  if (state_.calls[id] != CallStage::kHangs) return;
  const CallId sender = call.kind == CallKind::kSend ? id : other;
  add_link(plan_.calls[plan_.calls[sender].link.valid() ? sender : channel.receiver].link);
}

void WaitGraphBuilder::add_round(CallId id) {
  const Call& call = plan_.calls[id];
  const Communicator& communicator = plan_.communicators[call.communicator];
  for (std::uint32_t i = communicator.ranks; i < communicator.ranks_end; ++i) {
    const RankId rank = plan_.communicator_ranks[i];
    if (!state_.in_round[i].valid()) {
      add_coming(WaitKind::kPeerOfCollective, i, call);
    } else if (!moves(rank)) {
      const ActorId actor = plan_.calls[state_.in_round[i]].actor;
      add_op(WaitKind::kPeerOfCollective, actor, state_.actors[actor].done);
    }
  }
  if (state_.calls[id] == CallStage::kHangs) add_link(communicator.link);
  if (!state_.communicators[call.communicator].mismatched) return;
  for (std::uint32_t i = communicator.ranks; i < communicator.ranks_end; ++i) {
    const CallId other = state_.in_round[i];
    if (!other.valid()) continue;
    if (can_meet(plan_.calls[other].signature, call.signature, communicator.on_host)) continue;
    const ActorId actor = plan_.calls[other].actor;
    add_op(WaitKind::kPeerOfCollective, actor, state_.actors[actor].done);
  }
}

// Adds the edges of a collective call on an open communicator.
void WaitGraphBuilder::add_open_round(CallId id) {
  const Call& call = plan_.calls[id];
  const Communicator& communicator = plan_.communicators[call.communicator];
  if (state_.calls[id] == CallStage::kHangs) return add_link(communicator.link);
  const bool cut = state_.calls[id] == CallStage::kCut;
  for (std::uint32_t i = communicator.ranks; i < communicator.ranks_end; ++i) {
    if (aborted(i) || (!cut && state_.waits_for(plan_, call, i))) {
      add_coming(WaitKind::kPeerOfCollective, i, call);
    }
  }
  if (cut) return;
  if (!state_.round_of(call).mismatched) return;
  // Ranks with a different call may have left the sequence number.
  for (std::uint32_t i = communicator.ranks; i < communicator.ranks_end; ++i) {
    const CallId other = state_.in_round[i];
    if (!other.valid() || state_.seqs[i] != state_.seqs[call.member]) continue;
    if (can_meet(plan_.calls[other].signature, call.signature, communicator.on_host)) continue;
    const ActorId actor = plan_.calls[other].actor;
    add_op(WaitKind::kPeerOfCollective, actor, state_.actors[actor].done);
  }
}

// Adds an edge to a member's next call that matches `sort`.
void WaitGraphBuilder::add_coming(WaitKind kind, std::uint32_t member, const Call& sort) {
  const RankId rank = plan_.communicator_ranks[member];
  if (dead(rank)) return add_rank(kind, rank);
  if (aborted(member)) return add_rank(WaitKind::kAborted, rank);
  const auto [first, last] = users_of(sort.communicator, rank);
  const std::size_t before = edges_.size();
  bool looked_at_stream = false;
  for (std::uint32_t u = first; u < last; ++u) {
    const ActorId user = plan_.communicator_users[u];
    const IdRange<CallId> calls = plan_.calls_of(user);
    const bool fits = std::any_of(calls.begin(), calls.end(),
                                  [&](CallId call) { return same_sort(plan_.calls[call], sort); });
    if (!fits) continue;
    // All matching calls of a rank are on one stream or in one line.
    if (!looked_at_stream && add_coming_launched(kind, user, sort)) return;
    looked_at_stream = true;
    const std::uint32_t next = state_.actors[user].launched;
    if (next < plan_.actors[user].ops) add_op(kind, user, next);
  }
  if (edges_.size() == before) add(kind, op_nodes_ + rank.value);
  make_any_set(before);
}

bool WaitGraphBuilder::add_coming_launched(WaitKind kind, ActorId user, const Call& sort) {
  const Actor& actor = plan_.actors[user];
  for (std::uint32_t i = actor.lines; i < actor.lines_end; ++i) {
    const LineId line = plan_.actor_lines[i];
    if (plan_.lines[line].communicator != sort.communicator) continue;
    const Ring<StreamId>& ops = state_.lines[line];
    for (std::uint32_t n = 0; n < ops.size(); ++n) {
      const std::uint32_t i = state_.item_in_line(plan_, line, n);
      const StreamItem item = *std::next(state_.items_of(ops[n]).begin(), i);
      if (add_if_coming(kind, ops[n], i, item, sort)) return true;
    }
    return false;
  }
  std::uint32_t i = 0;
  for (const StreamItem item : state_.items_of(actor.stream)) {
    if (add_if_coming(kind, actor.stream, i++, item, sort)) return true;
  }
  return false;
}

// Adds an edge if `item`, number `i` of the stream, is an op with a matching call that is not done.
bool WaitGraphBuilder::add_if_coming(WaitKind kind, StreamId stream, std::uint32_t i,
                                     StreamItem item, const Call& sort) {
  if (item.kind() != StreamItem::Kind::kOp) return false;
  const bool started = i == 0 && state_.streams[stream].head_start != kNever;
  for (const CallId call : plan_.calls_of(item.actor())) {
    if (!same_sort(plan_.calls[call], sort)) continue;
    if (started && state_.calls[call] == CallStage::kDone) continue;
    add_item(kind, stream, i);
    return true;
  }
  return false;
}

// Returns the first communicator that the op needs and that is not initialized.
CommunicatorId WaitGraphBuilder::missing_communicator(ActorId id) const {
  const Actor& actor = plan_.actors[id];
  if (actor.collective.valid()) return plan_.collectives[actor.collective].communicator;
  for (const CallId call : plan_.calls_of(id)) {
    const CommunicatorId communicator = plan_.calls[call].communicator;
    if (!state_.communicators[communicator].exists) return communicator;
  }
  return actor.communicator;
}

void WaitGraphBuilder::add_init_edges(ActorId actor) {
  const LinkId cut_off = state_.threads[plan_.actors[actor].thread].cut_off;
  if (cut_off.valid()) return add_link(cut_off);
  const CommunicatorId id = missing_communicator(actor);
  const Communicator& communicator = plan_.communicators[id];
  const auto ranks = plan_.communicator_ranks.begin();
  const bool any_dead = std::any_of(ranks + communicator.ranks, ranks + communicator.ranks_end,
                                    [&](RankId rank) { return dead(rank); });
  const std::uint32_t size = communicator.ranks_end - communicator.ranks;
  if (state_.communicators[id].ranks_arrived == size && !any_dead) {
    add_marked_streams(WaitKind::kCommunicatorInit, StreamItem::init_mark(id));
    return;
  }
  for (std::uint32_t r = communicator.ranks; r < communicator.ranks_end; ++r) {
    const RankId rank = plan_.communicator_ranks[r];
    if (dead(rank)) {
      add_rank(WaitKind::kCommunicatorInit, rank);
      continue;
    }
    if (state_.arrived[r] != 0) continue;
    const std::size_t before = edges_.size();
    const auto [first, last] = users_of(id, rank);
    for (std::uint32_t u = first; u < last; ++u) {
      const ActorId user = plan_.communicator_users[u];
      const std::uint32_t next = state_.actors[user].launched;
      if (next == plan_.actors[user].ops) continue;
      add_op(WaitKind::kCommunicatorInit, user, next);
    }
    if (edges_.size() == before) add(WaitKind::kCommunicatorInit, op_nodes_ + rank.value);
    make_any_set(before);
  }
}

// ---------------------------------------------------------------------------------------------
// Meetings (9.7)

// Adds the edges of a thread that waits for connections at first use: those of sends and recvs or,
// if it waits for none, those of collectives.
void WaitGraphBuilder::add_connection_edges(ActorId id) {
  const Actor& actor = plan_.actors[id];
  MeetingKind waits = MeetingKind::kHosts;
  for (std::uint32_t i = actor.needs; i < actor.needs_end; ++i) {
    const Need& need = plan_.needs[i];
    const MeetingKind kind = plan_.meetings[need.meeting].kind;
    if (waits != MeetingKind::kHosts && kind != waits) return;
    const std::uint32_t number = state_.joined[need.join];
    if (number <= state_.meetings[need.meeting].met) continue;
    waits = kind;
    add_absent(need, number);
  }
}

void WaitGraphBuilder::add_meet_edges(ActorId id) {
  const Actor& actor = plan_.actors[id];
  const std::uint32_t number = state_.threads[actor.thread].needed;
  if (number == 0) {
    return add_marked_streams(WaitKind::kHostWait, StreamItem::synchronize_mark(actor.thread));
  }
  add_absent(plan_.needs[actor.needs], number);
}

// Adds edges to the ranks that have not arrived at the meeting for the `number`-th time.
void WaitGraphBuilder::add_absent(const Need& need, std::uint32_t number) {
  const Meeting& meeting = plan_.meetings[need.meeting];
  const WaitKind kind = kind_of(meeting.kind);
  for (std::uint32_t r = meeting.ranks; r < meeting.ranks_end; ++r) {
    const RankId rank = plan_.meeting_ranks[r];
    if (dead(rank)) {
      add_rank(kind, rank);
      continue;
    }
    if (state_.came[r] >= number) continue;
    const std::size_t before = edges_.size();
    for (std::uint32_t u = meeting.users; u < meeting.users_end; ++u) {
      const auto [user, join] = plan_.meeting_users[u];
      if (plan_.actors[user].rank != rank) continue;
      if (join != kNoOp && state_.joined[join] != 0) continue;
      const std::uint32_t next = state_.actors[user].launched;
      if (next < plan_.actors[user].ops) add_op(kind, user, next);
    }
    if (edges_.size() == before) add(kind, op_nodes_ + rank.value);
    make_any_set(before);
  }
}

}  // namespace pipesim::sim
