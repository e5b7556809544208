// The wait-for graph of a state at rest: docs/reference/rules.md, section 7, in the same order.
//
// Nodes are numbered by arithmetic while edges are made: the acts of an actor that can be nodes
// (launched and not done, and the next one) are consecutive, so act k of actor a has the number
// first_node(a) + k - done(a); then come all ranks, then the outside. A last pass keeps the
// nodes that exist or are waited for. Memory and time are linear in acts stuck plus edges.
//
// Tested by tests/twin on random plans.
#include "sim/wait_graph.hpp"

#include <algorithm>
#include <tuple>

#include "sim/assert.hpp"
#include "sim/state.hpp"

namespace pipesim::sim {
namespace {

class Builder {
 public:
  Builder(const Plan& plan, const State& state) : plan_(plan), state_(state) {}

  WaitGraph build();

 private:
  void number_nodes();
  void add_launched_edges(StreamId id);
  void add_peers(ActorId actor, std::uint32_t k);
  void add_met(CallId id);
  void add_link(LinkId id);
  void add_head_edges(StreamId id);
  void add_held_edges(StreamId id);
  void add_room_edges(StreamId id);
  void add_calls(ActorId actor);
  void add_round(CallId id);
  void add_coming(WaitKind kind, std::uint32_t member, const Call& sort);
  bool add_coming_launched(WaitKind kind, StreamId stream, const Call& sort);
  void add_record(WaitKind kind, SignalId id, std::uint32_t needed);
  void add_host_step_edges(ActorId id);
  void add_setters(SignalId id);
  void add_holder(LockId id);
  void add_next_edges(ActorId actor);
  void add_launch_edges(ActorId actor, Step step);
  void add_marked_streams(WaitKind kind, StreamItem mark);
  void find_marked_streams();
  CommunicatorId missing_communicator(ActorId id) const;
  void add_creation_edges(ActorId actor);
  void add_unmet_edges(ActorId id, std::uint32_t k);
  void add_input_edge(ActorId actor, EdgeId edge, std::uint32_t k);
  void add_register_edges(RegisterId id, std::uint32_t k);
  void add_unacknowledged(RegisterId reg, std::uint32_t slot, WaitKind kind);
  void add_acknowledgement(EdgeId edge, std::uint32_t slot, WaitKind kind);
  bool is_mark(EdgeId edge, std::uint32_t slot) const;
  WaitGraph compact();

  // Adds edges of node from_, and with end_node() drops those that say the same twice.
  void begin_node(ActorId actor, std::uint32_t k);
  void add(WaitKind kind, std::uint32_t to, RegisterId reg = {});
  void add_rank(WaitKind kind, RankId rank);
  void add_act(WaitKind kind, ActorId actor, std::uint32_t k, RegisterId reg = {});
  void add_blocker(ThreadId thread);
  void add_head(WaitKind kind, StreamId stream);
  void add_item(WaitKind kind, StreamId stream, std::uint32_t index);
  void make_any_set(std::size_t before);
  std::pair<std::uint32_t, std::uint32_t> users_of(CommunicatorId id, RankId rank) const;
  void end_node();

  std::uint32_t node_of(ActorId id, std::uint32_t k) const;
  ActorId next_actor(ActorId actor) const;
  bool has_next_node(ActorId id) const;
  bool dead(RankId rank) const { return state_.health[rank] == Health::kDead; }
  bool moves(RankId rank) const { return state_.health[rank] == Health::kSound; }
  bool program(ThreadId thread) const {
    return plan_.threads[thread].order == ThreadOrder::kProgram;
  }

  const Plan& plan_;
  const State& state_;
  IdVector<ActorId, std::uint32_t> first_node_;
  std::uint32_t act_nodes_ = 0;
  std::uint32_t from_ = 0;
  RankId from_rank_;
  std::size_t first_edge_ = 0;  // of from_
  std::uint32_t any_sets_ = 0;
  std::vector<std::pair<SignalId, ActorId>> setters_;  // of each signal; made when first needed
  std::vector<std::pair<std::uint32_t, StreamId>> marked_streams_;  // likewise, of each mark
  bool has_marked_streams_ = false;
  std::vector<WaitEdge> edges_;
};

WaitGraph Builder::build() {
  number_nodes();
  for (const StreamId stream : ids_of(plan_.streams)) {
    if (!dead(plan_.streams[stream].rank)) add_launched_edges(stream);
  }
  for (const ActorId actor : ids_of(plan_.actors)) {
    if (dead(plan_.actors[actor].rank)) continue;
    const ActorState& state = state_.actors[actor];
    const bool beyond = state.launched == plan_.actors[actor].acts;
    if (has_next_node(actor) && (!beyond || state_.in_launch(plan_, actor))) add_next_edges(actor);
  }
  return compact();
}

void Builder::number_nodes() {
  first_node_ = IdVector<ActorId, std::uint32_t>(plan_.actors.size());
  for (const ActorId actor : ids_of(plan_.actors)) {
    const ActorState& state = state_.actors[actor];
    first_node_[actor] = act_nodes_;
    act_nodes_ += state.launched - state.done + 1;  // the last: the next act, if that is a node
  }
}

// Whether the next act of `actor` stands for itself: not behind another of the same program. The
// act for which a source waits beyond its work counts.
bool Builder::has_next_node(ActorId id) const {
  const Actor& actor = plan_.actors[id];
  const ActorState& state = state_.actors[id];
  if (state.launched == actor.acts) return actor.input.waits && state_.in_launch(plan_, id);
  return !program(actor.thread) || next_actor(id) == id;
}

// The actor whose next act is what `actor` comes to next: its own, or that of its program.
ActorId Builder::next_actor(ActorId actor) const {
  const ThreadId id = plan_.actors[actor].thread;
  const Thread& thread = plan_.threads[id];
  if (thread.order == ThreadOrder::kArrival) return actor;
  return plan_.act(thread, thread.program + state_.threads[id].next_act);
}

std::uint32_t Builder::node_of(ActorId id, std::uint32_t k) const {
  const ActorState& state = state_.actors[id];
  if (k < state.launched) return first_node_[id] + k - state.done;
  if (k >= plan_.actors[id].acts) return act_nodes_ + plan_.actors[id].rank.value;
  const ActorId next = next_actor(id);
  return first_node_[next] + state_.actors[next].launched - state_.actors[next].done;
}

// ---------------------------------------------------------------------------------------------
// Edges

void Builder::begin_node(ActorId actor, std::uint32_t k) {
  from_ = first_node_[actor] + k - state_.actors[actor].done;
  from_rank_ = plan_.actors[actor].rank;
  first_edge_ = edges_.size();
}

void Builder::add(WaitKind kind, std::uint32_t to, RegisterId reg) {
  WaitEdge edge;
  edge.from = from_;
  edge.to = to;
  edge.kind = kind;
  edge.reg = reg;
  edges_.push_back(edge);
}

void Builder::add_rank(WaitKind kind, RankId rank) {
  add(dead(rank) ? WaitKind::kDeadRank : kind, act_nodes_ + rank.value);
}

void Builder::add_act(WaitKind kind, ActorId actor, std::uint32_t k, RegisterId reg) {
  if (dead(plan_.actors[actor].rank)) return add_rank(kind, plan_.actors[actor].rank);
  add(kind, node_of(actor, k), reg);
  edges_.back().needed_actor = actor;
  edges_.back().needed_k = k;
}

void Builder::add_blocker(ThreadId thread) {
  const ThreadState& state = state_.threads[thread];
  PIPESIM_CHECK(state.mode == ThreadMode::kBlocked, {"thread", thread.value});
  const ActorState& actor = state_.actors[state.at];
  const std::uint32_t k = actor.launched - (state.step == Step::kCompletion ? 1 : 0);
  add(WaitKind::kHostWait, first_node_[state.at] + k - actor.done);
  edges_.back().needed_actor = state.at;
  edges_.back().needed_k = k;
}

void Builder::add_head(WaitKind kind, StreamId stream) {
  const StreamItem& head = state_.streams[stream].items.front();
  PIPESIM_CHECK(head.kind() == StreamItem::Kind::kAct, {"stream", stream.value});
  add_act(kind, head.actor(), state_.actors[head.actor()].done);
}

// The act that is the item `index` of its stream.
void Builder::add_item(WaitKind kind, StreamId stream, std::uint32_t index) {
  const Ring<StreamItem>& items = state_.streams[stream].items;
  const ActorId actor = items[index].actor();
  std::uint32_t k = state_.actors[actor].done;
  for (std::uint32_t i = 0; i < index; ++i) {
    if (items[i].kind() == StreamItem::Kind::kAct && items[i].actor() == actor) ++k;
  }
  add_act(kind, actor, k);
}

// Of the edges from number `before` on one suffices. Those behind one act of a program are one
// alternative, and one is no choice.
void Builder::make_any_set(std::size_t before) {
  if (edges_.size() == before) return;
  const std::uint32_t first = edges_[before].to;
  const auto elsewhere = [&](const WaitEdge& edge) { return edge.to != first; };
  const auto begin = edges_.begin() + static_cast<std::ptrdiff_t>(before);
  if (std::none_of(begin, edges_.end(), elsewhere)) return;
  ++any_sets_;
  for (auto edge = begin; edge != edges_.end(); ++edge) edge->any_set = any_sets_;
}

// The actors of a rank that use a communicator.
std::pair<std::uint32_t, std::uint32_t> Builder::users_of(CommunicatorId id, RankId rank) const {
  const Communicator& communicator = plan_.communicators[id];
  const auto all = plan_.communicator_users.begin();
  const auto rank_of = [&](ActorId user) { return plan_.actors[user].rank; };
  const auto first = std::partition_point(all + communicator.users, all + communicator.users_end,
                                          [&](ActorId user) { return rank_of(user) < rank; });
  const auto last = std::partition_point(first, all + communicator.users_end,
                                         [&](ActorId user) { return rank_of(user) == rank; });
  return {static_cast<std::uint32_t>(first - all), static_cast<std::uint32_t>(last - all)};
}

// The first of each kind and target stays.
void Builder::end_node() {
  const auto begin = edges_.begin() + static_cast<std::ptrdiff_t>(first_edge_);
  if (edges_.end() - begin < 2) return;
  const auto what = [](const WaitEdge& edge) { return std::tie(edge.to, edge.kind); };
  std::vector<std::uint32_t> order(static_cast<std::size_t>(edges_.end() - begin));
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return what(begin[a]) < what(begin[b]);
  });
  const auto same = [&](std::uint32_t a, std::uint32_t b) {
    return what(begin[a]) == what(begin[b]);
  };
  const auto unique_end = std::unique(order.begin(), order.end(), same);
  if (unique_end == order.end()) return;
  order.erase(unique_end, order.end());
  std::sort(order.begin(), order.end());
  for (std::uint32_t i = 0; i < order.size(); ++i) begin[i] = begin[order[i]];
  edges_.erase(begin + static_cast<std::ptrdiff_t>(order.size()), edges_.end());
}

// 7.1 and 7.2: what stands in a stream.
void Builder::add_launched_edges(StreamId id) {
  const Ring<StreamItem>& items = state_.streams[id].items;
  if (items.empty()) return;
  const ActorId head = items.front().actor();
  begin_node(head, state_.actors[head].done);
  add_head_edges(id);
  end_node();
  // The acts of one actor stand in its stream in order: the i-th that is met is done + i.
  std::vector<std::pair<ActorId, std::uint32_t>> behind;
  for (std::uint32_t i = 1; i < items.size(); ++i) {
    if (items[i].kind() == StreamItem::Kind::kAct) behind.emplace_back(items[i].actor(), i);
  }
  std::sort(behind.begin(), behind.end());
  std::uint32_t k = 0;
  for (std::size_t i = 0; i < behind.size(); ++i) {
    const ActorId actor = behind[i].first;
    const bool same = i > 0 && behind[i - 1].first == actor;
    k = same ? k + 1 : state_.actors[actor].done + (actor == head ? 1 : 0);
    begin_node(actor, k);
    add_head(WaitKind::kStreamOrder, id);
  }
}

void Builder::add_head_edges(StreamId id) {
  const StreamState& stream = state_.streams[id];
  if (!moves(plan_.streams[id].rank)) {
    return add(WaitKind::kDeadRank, act_nodes_ + plan_.streams[id].rank.value);
  }
  if (stream.head_start == kNever) {
    add_held_edges(id);
    if (plan_.streams[id].device.valid()) add_room_edges(id);
    return;
  }
  const ActorId head = stream.items.front().actor();
  const Actor& actor = plan_.actors[head];
  if (actor.role == Role::kWait) {
    add_record(WaitKind::kStreamOrder, actor.signal, stream.items.front().needed());
  } else if (actor.role == Role::kCalls) {
    add_calls(head);
  } else if (actor.collective.valid()) {
    add_peers(head, state_.actors[head].done);
  }
}

void Builder::add_peers(ActorId actor, std::uint32_t k) {
  const Collective& collective = plan_.collectives[plan_.actors[actor].collective];
  for (std::uint32_t i = collective.members; i < collective.members_end; ++i) {
    const Member& member = plan_.members[i];
    if (!member.actor.valid()) {
      add_rank(WaitKind::kPeerOfCollective, member.rank);
    } else if (state_.started(plan_, member.actor) <= k || !moves(member.rank)) {
      add_act(WaitKind::kPeerOfCollective, member.actor, k);
    }
  }
  if (state_.hangs[plan_.actors[actor].collective] != 0) {
    add_link(plan_.communicators[collective.communicator].link);
  }
}

// 10.6: to the other end of the link.
void Builder::add_link(LinkId id) {
  const Link& link = plan_.links[id];
  const RankId other = link.second == from_rank_ ? link.first : link.second;
  add_rank(WaitKind::kFailedLink, other);
  if (!dead(other)) edges_.back().link = id;
}

// 7.5: the first of a stream, which waits for other streams.
void Builder::add_held_edges(StreamId id) {
  const StreamItem& head = state_.streams[id].items.front();
  const Actor& actor = plan_.actors[head.actor()];
  const std::uint32_t k = state_.actors[head.actor()].done;
  for (std::uint32_t i = actor.afters; i < actor.afters_end; ++i) {
    const After& after = plan_.afters[i];
    if (state_.actors[after.actor].done > k + after.ahead) continue;
    add_act(WaitKind::kData, after.actor, k + after.ahead);
  }
  if (!actor.behind.valid() || state_.streams[actor.behind].done >= head.needed()) return;
  // The last of the acts that were launched there before.
  std::uint32_t left = head.needed() - state_.streams[actor.behind].done;
  const Ring<StreamItem>& items = state_.streams[actor.behind].items;
  for (std::uint32_t i = 0;; ++i) {
    if (items[i].kind() != StreamItem::Kind::kAct || --left > 0) continue;
    return add_item(WaitKind::kStreamOrder, actor.behind, i);
  }
}

// 9.6.1: the first of a stream, for which there is no room.
void Builder::add_room_edges(StreamId id) {
  const Stream& stream = plan_.streams[id];
  const Device& device = plan_.devices[stream.device];
  const DeviceState& room = state_.devices[stream.device];
  const Role role = plan_.actors[state_.streams[id].items.front().actor()].role;
  // The first act of stream `other` that has not left a queue in which acts of any role stand, or
  // only those of role kCalls.
  const auto add_first = [&](StreamId other, bool calls_only) {
    if (other == id) return;
    const StreamState& front = state_.streams[other];
    for (std::uint32_t i = 0; i < front.items.size(); ++i) {
      if (front.items[i].kind() != StreamItem::Kind::kAct) continue;
      const Role its = plan_.actors[front.items[i].actor()].role;
      const bool left = i == 0 && front.head_start != kNever && needs_slot(its);
      if (left || (calls_only && its != Role::kCalls)) continue;
      return add_item(WaitKind::kDeviceRoom, other, i);
    }
  };
  if (device.hardware_queues > 0) {
    add_first(room.hardware_queues[stream.hardware_queue].front(), false);
  }
  if (device.implicit_order && role == Role::kCalls) add_first(room.launch_order.front(), true);
  if (device.resident == 0 || !needs_slot(role) || room.resident < device.resident) return;
  const std::size_t before = edges_.size();
  for (std::uint32_t i = device.streams; i < device.streams_end; ++i) {
    const StreamState& other = state_.streams[plan_.device_streams[i]];
    if (other.items.empty() || other.head_start == kNever) continue;
    if (!needs_slot(plan_.actors[other.items.front().actor()].role)) continue;
    add_head(WaitKind::kDeviceRoom, plan_.device_streams[i]);
  }
  make_any_set(before);
}

// 9.6.3
void Builder::add_calls(ActorId actor) {
  for (const CallId id : plan_.calls_of(actor)) {
    const CallStage stage = state_.calls[id];
    if (stage == CallStage::kInactive || stage == CallStage::kDone) continue;
    const Call& call = plan_.calls[id];
    if (call.kind == CallKind::kCollective) {
      add_round(id);
      continue;
    }
    if (stage != CallStage::kActive) {
      add_met(id);
      continue;
    }
    Call wanted = call;
    wanted.kind = call.kind == CallKind::kSend ? CallKind::kReceive : CallKind::kSend;
    wanted.peer = call.member;
    add_coming(WaitKind::kPeerOfMessage, call.peer, wanted);
  }
}

// A send or receive that runs and never ends.
void Builder::add_met(CallId id) {
  const Call& call = plan_.calls[id];
  const ChannelState& channel = state_.channels[call.channel];
  const CallId other = call.kind == CallKind::kSend ? channel.receiver : channel.sender;
  const ActorId actor = other.valid() ? plan_.calls[other].actor : ActorId();
  if (actor.valid() && !call.eager && !moves(plan_.actors[actor].rank)) {
    add_act(WaitKind::kPeerOfMessage, actor, state_.actors[actor].done);
  }
  if (state_.calls[id] != CallStage::kHangs) return;
  const CallId sender = call.kind == CallKind::kSend ? id : other;
  add_link(plan_.calls[plan_.calls[sender].link.valid() ? sender : channel.receiver].link);
}

void Builder::add_round(CallId id) {
  const Call& call = plan_.calls[id];
  const Communicator& communicator = plan_.communicators[call.communicator];
  for (std::uint32_t i = communicator.ranks; i < communicator.ranks_end; ++i) {
    const RankId rank = plan_.communicator_ranks[i];
    if (!state_.in_round[i].valid()) {
      add_coming(WaitKind::kPeerOfCollective, i, call);
    } else if (!moves(rank)) {
      const ActorId actor = plan_.calls[state_.in_round[i]].actor;
      add_act(WaitKind::kPeerOfCollective, actor, state_.actors[actor].done);
    }
  }
  if (state_.calls[id] == CallStage::kHangs) add_link(communicator.link);
  if (!state_.communicators[call.communicator].mismatched) return;
  for (std::uint32_t i = communicator.ranks; i < communicator.ranks_end; ++i) {
    const CallId other = state_.in_round[i];
    if (!other.valid() || plan_.calls[other].signature == call.signature) continue;
    const ActorId actor = plan_.calls[other].actor;
    add_act(WaitKind::kPeerOfCollective, actor, state_.actors[actor].done);
  }
}

bool same_sort(const Call& a, const Call& b) {
  return a.communicator == b.communicator && a.kind == b.kind &&
         (a.kind == CallKind::kCollective || a.peer == b.peer);
}

// Where a member will come from with a call of the same sort as `sort`.
void Builder::add_coming(WaitKind kind, std::uint32_t member, const Call& sort) {
  const RankId rank = plan_.communicator_ranks[member];
  if (dead(rank)) return add_rank(kind, rank);
  const auto [first, last] = users_of(sort.communicator, rank);
  const std::size_t before = edges_.size();
  bool looked_at_stream = false;
  for (std::uint32_t u = first; u < last; ++u) {
    const ActorId user = plan_.communicator_users[u];
    const IdRange<CallId> calls = plan_.calls_of(user);
    const bool fits = std::any_of(calls.begin(), calls.end(),
                                  [&](CallId call) { return same_sort(plan_.calls[call], sort); });
    if (!fits) continue;
    // All of them are on one stream.
    if (!looked_at_stream && add_coming_launched(kind, plan_.actors[user].stream, sort)) return;
    looked_at_stream = true;
    const std::uint32_t next = state_.actors[user].launched;
    if (next < plan_.actors[user].acts) add_act(kind, user, next);
  }
  if (edges_.size() == before) add(kind, act_nodes_ + rank.value);
  make_any_set(before);
}

bool Builder::add_coming_launched(WaitKind kind, StreamId stream, const Call& sort) {
  const StreamState& state = state_.streams[stream];
  for (std::uint32_t i = 0; i < state.items.size(); ++i) {
    if (state.items[i].kind() != StreamItem::Kind::kAct) continue;
    const bool started = i == 0 && state.head_start != kNever;
    for (const CallId call : plan_.calls_of(state.items[i].actor())) {
      if (!same_sort(plan_.calls[call], sort)) continue;
      if (started && state_.calls[call] == CallStage::kDone) continue;
      add_item(kind, stream, i);
      return true;
    }
  }
  return false;
}

// The record with which the signal will have fired `needed` times: it is launched and not done.
void Builder::add_record(WaitKind kind, SignalId id, std::uint32_t needed) {
  const StreamId stream = plan_.signals[id].stream;
  const Ring<StreamItem>& items = state_.streams[stream].items;
  std::uint32_t missing = needed - state_.signals[id].fired;
  for (std::uint32_t i = 0; i < items.size(); ++i) {
    if (items[i].kind() != StreamItem::Kind::kAct) continue;
    const Actor& actor = plan_.actors[items[i].actor()];
    if (actor.role != Role::kRecord || actor.signal != id || --missing > 0) continue;
    return add_item(kind, stream, i);
  }
  PIPESIM_CHECK(false, {"signal", id.value});
}

// 9.6.4
void Builder::add_host_step_edges(ActorId id) {
  const Actor& actor = plan_.actors[id];
  switch (actor.role) {
    case Role::kSynchronize:
      return add_marked_streams(WaitKind::kHostWait, StreamItem::synchronize_mark(actor.thread));
    case Role::kAwait:
      if (!plan_.signals[actor.signal].recorded()) return add_setters(actor.signal);
      return add_record(WaitKind::kHostWait, actor.signal, state_.threads[actor.thread].needed);
    case Role::kLock:
      return add_holder(actor.lock);
    case Role::kOp:
    case Role::kCalls:
    case Role::kRecord:
    case Role::kWait:
    case Role::kWork:
    case Role::kSet:
    case Role::kUnlock:
    case Role::kCreate:
      break;  // none of these waits at this step
  }
}

void Builder::add_setters(SignalId id) {
  if (setters_.empty()) {
    for (const ActorId actor : ids_of(plan_.actors)) {
      if (plan_.actors[actor].role == Role::kSet) {
        setters_.emplace_back(plan_.actors[actor].signal, actor);
      }
    }
    std::sort(setters_.begin(), setters_.end());
  }
  const std::size_t before = edges_.size();
  auto setter = std::lower_bound(setters_.begin(), setters_.end(), std::pair(id, ActorId{0}));
  for (; setter != setters_.end() && setter->first == id; ++setter) {
    const std::uint32_t next = state_.actors[setter->second].launched;
    if (next == plan_.actors[setter->second].acts) continue;
    add_act(WaitKind::kHostWait, setter->second, next);
  }
  if (edges_.size() == before) add(WaitKind::kHostWait, act_nodes_ + plan_.rank_count);
  make_any_set(before);
}

void Builder::add_holder(LockId id) {
  const ThreadId holder = state_.locks[id].holder;
  const Thread& thread = plan_.threads[holder];
  const std::uint32_t next = thread.program + state_.threads[holder].next_act;
  if (next == thread.program_end) {
    add(WaitKind::kLock, act_nodes_ + thread.rank.value);
  } else {
    const ActorId actor = plan_.act(thread, next);
    add_act(WaitKind::kLock, actor, state_.actors[actor].launched);
  }
}

// 7.3 and 7.4: the next act of an actor or of a program.
void Builder::add_next_edges(ActorId actor) {
  const std::uint32_t k = state_.actors[actor].launched;
  begin_node(actor, k);
  const ThreadId thread = plan_.actors[actor].thread;
  if (state_.in_launch(plan_, actor)) {
    add_launch_edges(actor, state_.threads[thread].step);
  } else {
    add_unmet_edges(actor, k);
    if (edges_.size() == first_edge_ && !program(thread)) add_blocker(thread);
    if (program(thread) && state_.threads[thread].mode == ThreadMode::kBlocked) {
      add_blocker(thread);
    }
  }
  end_node();
}

void Builder::add_launch_edges(ActorId actor, Step step) {
  switch (step) {
    case Step::kOutsideInput:
      add(WaitKind::kOutsideInput, act_nodes_ + plan_.rank_count);
      break;
    case Step::kCreation:
      add_creation_edges(actor);
      break;
    case Step::kHostStep:
      add_host_step_edges(actor);
      break;
    case Step::kLaunchQueue:
      add_head(WaitKind::kLaunchQueue, plan_.actors[actor].stream);
      break;
    case Step::kNone:
    case Step::kOverhead:
    case Step::kCompletion:
      break;  // these end by themselves, or are not a launch
  }
}

// The streams that hold a mark like `mark`, each by what stands in front of it.
void Builder::add_marked_streams(WaitKind kind, StreamItem mark) {
  if (!has_marked_streams_) find_marked_streams();
  auto stream = std::lower_bound(marked_streams_.begin(), marked_streams_.end(),
                                 std::pair(mark.mark(), StreamId{0}));
  for (; stream != marked_streams_.end() && stream->first == mark.mark(); ++stream) {
    add_head(kind, stream->second);
  }
}

void Builder::find_marked_streams() {
  has_marked_streams_ = true;
  for (const StreamId stream : ids_of(plan_.streams)) {
    const Ring<StreamItem>& items = state_.streams[stream].items;
    for (std::uint32_t i = 0; i < items.size(); ++i) {
      if (items[i].kind() == StreamItem::Kind::kAct) continue;
      marked_streams_.emplace_back(items[i].mark(), stream);
    }
  }
  std::sort(marked_streams_.begin(), marked_streams_.end());
  marked_streams_.erase(std::unique(marked_streams_.begin(), marked_streams_.end()),
                        marked_streams_.end());
}

// The first that the act needs and that does not exist.
CommunicatorId Builder::missing_communicator(ActorId id) const {
  const Actor& actor = plan_.actors[id];
  if (actor.collective.valid()) return plan_.collectives[actor.collective].communicator;
  for (const CallId call : plan_.calls_of(id)) {
    const CommunicatorId communicator = plan_.calls[call].communicator;
    if (!state_.communicators[communicator].exists) return communicator;
  }
  return actor.communicator;
}

void Builder::add_creation_edges(ActorId actor) {
  const LinkId cut_off = state_.threads[plan_.actors[actor].thread].cut_off;
  if (cut_off.valid()) return add_link(cut_off);
  const CommunicatorId id = missing_communicator(actor);
  const Communicator& communicator = plan_.communicators[id];
  const auto ranks = plan_.communicator_ranks.begin();
  const bool any_dead = std::any_of(ranks + communicator.ranks, ranks + communicator.ranks_end,
                                    [&](RankId rank) { return dead(rank); });
  const std::uint32_t size = communicator.ranks_end - communicator.ranks;
  if (state_.communicators[id].ranks_arrived == size && !any_dead) {
    add_marked_streams(WaitKind::kCommunicatorCreation, StreamItem::creation_mark(id));
    return;
  }
  for (std::uint32_t r = communicator.ranks; r < communicator.ranks_end; ++r) {
    const RankId rank = plan_.communicator_ranks[r];
    if (dead(rank)) {
      add_rank(WaitKind::kCommunicatorCreation, rank);
      continue;
    }
    if (state_.arrived[r] != 0) continue;
    const std::size_t before = edges_.size();
    const auto [first, last] = users_of(id, rank);
    for (std::uint32_t u = first; u < last; ++u) {
      const ActorId user = plan_.communicator_users[u];
      const std::uint32_t next = state_.actors[user].launched;
      if (next == plan_.actors[user].acts) continue;
      add_act(WaitKind::kCommunicatorCreation, user, next);
    }
    if (edges_.size() == before) add(WaitKind::kCommunicatorCreation, act_nodes_ + rank.value);
    make_any_set(before);
  }
}

void Builder::add_unmet_edges(ActorId id, std::uint32_t k) {
  const Actor& actor = plan_.actors[id];
  for (std::uint32_t i = actor.inputs; i < actor.inputs_end; ++i) {
    if (state_.edges[plan_.inputs[i]].available == 0) add_input_edge(id, plan_.inputs[i], k);
  }
  for (const RegisterId reg : plan_.registers_of(id)) {
    if (plan_.edges_of(reg).empty()) continue;
    if (!State::register_allows(plan_.registers[reg], state_.registers[reg], k)) {
      add_register_edges(reg, k);
    }
  }
}

void Builder::add_input_edge(ActorId actor, EdgeId edge_id, std::uint32_t k) {
  const Edge& edge = plan_.edges[edge_id];
  const Register& reg = plan_.registers[edge.source];
  const std::uint32_t fills = (k / edge.acts_per_slot + 1) * reg.acts_per_slot - 1;
  const ActorState& producer = state_.actors[reg.producer];
  const bool sent = fills < (edge.data_at_launch ? producer.launched : producer.done);
  if (sent) {
    add_blocker(plan_.actors[actor].thread);
  } else {
    add_act(WaitKind::kData, reg.producer, fills, edge.source);
  }
}

void Builder::add_register_edges(RegisterId id, std::uint32_t k) {
  const Register& reg = plan_.registers[id];
  const WaitKind kind = reg.control ? WaitKind::kCreditControl : WaitKind::kCreditData;
  const bool drains = reg.drain_every > 0 && k % reg.drain_every == 0;
  const std::uint32_t slot = k / reg.acts_per_slot - (drains ? 1 : reg.slots);
  add_unacknowledged(id, slot, kind);
}

// The edges of `reg` that have not acknowledged `slot`, as far as its producer's thread counted.
void Builder::add_unacknowledged(RegisterId reg, std::uint32_t slot, WaitKind kind) {
  const RankId rank = plan_.actors[plan_.registers[reg].producer].rank;
  for (const EdgeId edge : plan_.edges_of(reg)) {
    if (state_.edges[edge].acknowledged > slot) continue;
    if (dead(rank)) return add_rank(kind, rank);  // it passes nothing on any more
    add_acknowledgement(edge, slot, kind);
  }
}

void Builder::add_acknowledgement(EdgeId edge_id, std::uint32_t slot, WaitKind kind) {
  const Edge& edge = plan_.edges[edge_id];
  const ActorState& consumer = state_.actors[edge.consumer];
  const std::uint32_t releases = (slot + 1) * edge.acts_per_slot - 1;
  if (consumer.launched <= releases) {
    add_act(kind, edge.consumer, releases, edge.source);
    return;
  }
  if (edge.in_place.valid()) {
    const std::size_t before = edges_.size();
    add_unacknowledged(edge.in_place, slot, kind);
    if (edges_.size() != before) return;
    if (is_mark(edge_id, slot)) {
      add_head(WaitKind::kStreamOrder, plan_.actors[edge.consumer].stream);
      return;
    }
  } else if (!edge.ack_at_launch && consumer.done <= releases) {
    add_act(kind, edge.consumer, releases, edge.source);
    return;
  }
  add_blocker(plan_.actors[plan_.registers[edge.source].producer].thread);
}

// Whether the acknowledgement of `slot` still stands in its sender's stream. Those that were sent
// along the edge are, in order: counted, in an inbox, in the stream.
bool Builder::is_mark(EdgeId edge_id, std::uint32_t slot) const {
  const Edge& edge = plan_.edges[edge_id];
  const Ring<StreamItem>& items = state_.streams[plan_.actors[edge.consumer].stream].items;
  std::uint32_t marks = 0;
  for (std::uint32_t i = 0; i < items.size(); ++i) {
    if (items[i].kind() == StreamItem::Kind::kAckMark && items[i].edge() == edge_id) ++marks;
  }
  return slot + marks >= state_.registers[edge.in_place].returned;
}

// ---------------------------------------------------------------------------------------------

WaitGraph Builder::compact() {
  const std::uint32_t outside = act_nodes_ + plan_.rank_count;
  std::vector<std::uint8_t> used(outside + 1, 0);
  for (const ActorId actor : ids_of(plan_.actors)) {
    const ActorState& state = state_.actors[actor];
    const std::uint32_t next = first_node_[actor] + state.launched - state.done;
    if (dead(plan_.actors[actor].rank)) continue;
    for (std::uint32_t node = first_node_[actor]; node < next; ++node) used[node] = 1;
    const bool work_left = state.launched < plan_.actors[actor].acts;
    if (work_left && has_next_node(actor)) used[next] = 1;
  }
  // Twice: what waits for a source beyond its work makes that a node, and then what it waits for.
  for (int round = 0; round < 2; ++round) {
    for (const WaitEdge& edge : edges_) {
      if (used[edge.from] != 0) used[edge.to] = 1;
    }
  }
  WaitGraph graph;
  std::vector<std::uint32_t> index(outside + 1, 0);
  const auto keep = [&](std::uint32_t node, const WaitNode& what) {
    if (used[node] == 0) return;
    index[node] = static_cast<std::uint32_t>(graph.nodes.size());
    graph.nodes.push_back(what);
  };
  for (const ActorId actor : ids_of(plan_.actors)) {
    const ActorState& state = state_.actors[actor];
    for (std::uint32_t k = state.done; k <= state.launched; ++k) {
      keep(first_node_[actor] + k - state.done,
           {WaitNodeKind::kAct, actor, k, plan_.actors[actor].rank});
    }
  }
  for (std::uint32_t rank = 0; rank < plan_.rank_count; ++rank) {
    keep(act_nodes_ + rank, {WaitNodeKind::kRank, ActorId(), 0, RankId{rank}});
  }
  keep(outside, {WaitNodeKind::kOutside, ActorId(), 0, RankId()});
  for (WaitEdge& edge : edges_) {
    if (used[edge.from] == 0) continue;  // a source beyond its work that nothing waits for
    edge.from = index[edge.from];
    edge.to = index[edge.to];
    graph.edges.push_back(edge);
  }
  std::stable_sort(graph.edges.begin(), graph.edges.end(),
                   [](const WaitEdge& a, const WaitEdge& b) { return a.from < b.from; });
  return graph;
}

}  // namespace

WaitGraph wait_graph(const Plan& plan, const State& state) { return Builder(plan, state).build(); }

}  // namespace pipesim::sim
