// The wait-for graph of a quiescent state, in the order of docs/reference/rules.md, section 7.
//
// While edges are added, nodes are identified by computed numbers. The ops of an actor that can be
// nodes (launched and not done, and the next one) are consecutive: op k of actor a has the number
// first_node(a) + k - done(a). All ranks follow, then the outside. At the end, compact() keeps only
// the nodes of unfinished ops, and the nodes that they wait for. Memory and time are linear in the
// number of stuck ops plus edges.
//
// tests/twin tests the graph on random plans.
#include "sim/wait_graph.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "sim/assert.hpp"
#include "sim/waits/wait_graph_builder.hpp"

namespace pipesim::sim {

WaitGraph WaitGraphBuilder::build() {
  number_nodes();
  for (const StreamId stream : ids_of(plan_.streams)) {
    if (!dead(plan_.streams[stream].rank)) add_launched_edges(stream);
  }
  for (const ActorId actor : ids_of(plan_.actors)) {
    if (dead(plan_.actors[actor].rank)) continue;
    const ActorState& state = state_.actors[actor];
    const bool beyond = state.launched == plan_.actors[actor].ops;
    if (has_next_node(actor) && (!beyond || state_.in_launch(plan_, actor))) add_next_edges(actor);
  }
  return compact();
}

void WaitGraphBuilder::number_nodes() {
  first_node_ = IdVector<ActorId, std::uint32_t>(plan_.actors.size());
  for (const ActorId actor : ids_of(plan_.actors)) {
    const ActorState& state = state_.actors[actor];
    first_node_[actor] = op_nodes_;
    op_nodes_ += state.launched - state.done + 1;  // plus one for the next op, which can be a node
  }
}

// Whether the next op of `actor` has its own node, that is, no other op of the same program comes
// first. Includes the extra op of a source that, after its last op, waits for more outside input.
bool WaitGraphBuilder::has_next_node(ActorId id) const {
  const Actor& actor = plan_.actors[id];
  const ActorState& state = state_.actors[id];
  if (state.launched == actor.ops) return actor.input.waits && state_.in_launch(plan_, id);
  return !program(actor.thread) || next_actor(id) == id;
}

// Returns the actor of the next op on the thread of `actor`: `actor` itself, or an actor of the
// program.
ActorId WaitGraphBuilder::next_actor(ActorId actor) const {
  const ThreadId id = plan_.actors[actor].thread;
  const Thread& thread = plan_.threads[id];
  if (thread.order == ThreadOrder::kArrival) return actor;
  return plan_.op(thread, thread.program + state_.threads[id].next_op);
}

std::uint32_t WaitGraphBuilder::node_of(ActorId id, std::uint32_t k) const {
  const ActorState& state = state_.actors[id];
  if (k < state.launched) return first_node_[id] + k - state.done;
  if (k >= plan_.actors[id].ops) return op_nodes_ + plan_.actors[id].rank.value;
  const ActorId next = next_actor(id);
  return first_node_[next] + state_.actors[next].launched - state_.actors[next].done;
}

// ---------------------------------------------------------------------------------------------
// Edges

void WaitGraphBuilder::begin_node(ActorId actor, std::uint32_t k) {
  from_ = first_node_[actor] + k - state_.actors[actor].done;
  from_rank_ = plan_.actors[actor].rank;
  first_edge_ = edges_.size();
}

void WaitGraphBuilder::add(WaitKind kind, std::uint32_t to, RegisterId reg) {
  WaitEdge edge;
  edge.from = from_;
  edge.to = to;
  edge.kind = kind;
  edge.reg = reg;
  edge.call = call_;
  edges_.push_back(edge);
}

void WaitGraphBuilder::add_rank(WaitKind kind, RankId rank) {
  add(dead(rank) ? WaitKind::kDeadRank : kind, op_nodes_ + rank.value);
}

void WaitGraphBuilder::add_op(WaitKind kind, ActorId actor, std::uint32_t k, RegisterId reg) {
  if (dead(plan_.actors[actor].rank)) return add_rank(kind, plan_.actors[actor].rank);
  add(kind, node_of(actor, k), reg);
  edges_.back().needed_actor = actor;
  edges_.back().needed_k = k;
}

void WaitGraphBuilder::add_blocker(ThreadId thread) {
  const ThreadState& state = state_.threads[thread];
  PIPESIM_CHECK(state.mode == ThreadMode::kBlocked, {"thread", thread.value});
  const ActorState& actor = state_.actors[state.at];
  const std::uint32_t k = actor.launched - (state.step == Step::kCompletion ? 1 : 0);
  add(WaitKind::kHostWait, first_node_[state.at] + k - actor.done);
  edges_.back().needed_actor = state.at;
  edges_.back().needed_k = k;
}

void WaitGraphBuilder::add_head(WaitKind kind, StreamId stream) {
  const StreamItem& head = state_.streams[stream].items.front();
  PIPESIM_CHECK(head.kind() == StreamItem::Kind::kOp, {"stream", stream.value});
  add_op(kind, head.actor(), state_.actors[head.actor()].done);
}

// Adds an edge to the op that is item `index` of the stream.
void WaitGraphBuilder::add_item(WaitKind kind, StreamId stream, std::uint32_t index) {
  const StreamQueue::Items items = state_.items_of(stream);
  const auto at = std::next(items.begin(), index);
  add_op(kind, (*at).actor(), state_.op_at(stream, at));
}

// Turns the edges with index `before` and above into an ANY set: the op continues as soon as one of
// these waits ends. Edges through the same op of a program are one alternative; a single
// alternative is not a choice.
void WaitGraphBuilder::make_any_set(std::size_t before) {
  if (edges_.size() == before) return;
  const std::uint32_t first = edges_[before].to;
  const auto elsewhere = [&](const WaitEdge& edge) { return edge.to != first; };
  const auto begin = edges_.begin() + static_cast<std::ptrdiff_t>(before);
  if (std::none_of(begin, edges_.end(), elsewhere)) return;
  ++any_sets_;
  for (auto edge = begin; edge != edges_.end(); ++edge) edge->any_set = any_sets_;
}

// Returns the range of a communicator's users on a rank, in Plan::communicator_users.
std::pair<std::uint32_t, std::uint32_t> WaitGraphBuilder::users_of(CommunicatorId id,
                                                                   RankId rank) const {
  const Communicator& communicator = plan_.communicators[id];
  const auto all = plan_.communicator_users.begin();
  const auto rank_of = [&](ActorId user) { return plan_.actors[user].rank; };
  const auto first = std::partition_point(all + communicator.users, all + communicator.users_end,
                                          [&](ActorId user) { return rank_of(user) < rank; });
  const auto last = std::partition_point(first, all + communicator.users_end,
                                         [&](ActorId user) { return rank_of(user) == rank; });
  return {static_cast<std::uint32_t>(first - all), static_cast<std::uint32_t>(last - all)};
}

// Drops duplicate edges of the current node: keeps the first edge per kind and target.
void WaitGraphBuilder::end_node() {
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

// Rules 7.1 and 7.2: adds the edges of the ops in a stream.
void WaitGraphBuilder::add_launched_edges(StreamId id) {
  if (state_.streams[id].items.empty()) return;
  const ActorId head = state_.streams[id].items.front().actor();
  begin_node(head, state_.actors[head].done);
  add_head_edges(id);
  end_node();
  // The queued ops of one actor are in order: the i-th in the stream has the number done + i.
  std::vector<std::pair<ActorId, std::uint32_t>> behind;
  std::uint32_t index = 0;
  for (const StreamItem item : state_.items_of(id)) {
    const bool is_op = item.kind() == StreamItem::Kind::kOp;
    if (index > 0 && is_op) behind.emplace_back(item.actor(), index);
    ++index;
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

void WaitGraphBuilder::add_head_edges(StreamId id) {
  const StreamState& stream = state_.streams[id];
  if (!moves(plan_.streams[id].rank)) {
    return add(WaitKind::kDeadRank, op_nodes_ + plan_.streams[id].rank.value);
  }
  if (stream.head_start == kNever) {
    add_held_edges(id);
    if (plan_.streams[id].device.valid()) add_slot_edges(id);
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

void WaitGraphBuilder::add_peers(ActorId actor, std::uint32_t k) {
  const Collective& collective = plan_.collectives[plan_.actors[actor].collective];
  for (std::uint32_t i = collective.members; i < collective.members_end; ++i) {
    const Member& member = plan_.members[i];
    if (!member.actor.valid()) {
      add_rank(WaitKind::kPeerOfCollective, member.rank);
    } else if (state_.started(plan_, member.actor) <= k || !moves(member.rank)) {
      add_op(WaitKind::kPeerOfCollective, member.actor, k);
    }
  }
  if (state_.hangs[plan_.actors[actor].collective] != 0) {
    add_link(plan_.communicators[collective.communicator].link);
  }
}

// Rule 10.6: adds an edge to the rank at the other end of the link.
void WaitGraphBuilder::add_link(LinkId id) {
  const Link& link = plan_.links[id];
  const RankId other = link.second == from_rank_ ? link.first : link.second;
  add_rank(WaitKind::kFailedLink, other);
  if (!dead(other)) edges_.back().link = id;
}

// Rule 7.5: adds the edges of a stream's head that waits for other streams.
void WaitGraphBuilder::add_held_edges(StreamId id) {
  const StreamItem& head = state_.streams[id].items.front();
  const Actor& actor = plan_.actors[head.actor()];
  const std::uint32_t k = state_.actors[head.actor()].done;
  for (std::uint32_t i = actor.afters; i < actor.afters_end; ++i) {
    const After& after = plan_.afters[i];
    if (state_.actors[after.actor].done > k + after.ahead) continue;
    add_op(WaitKind::kData, after.actor, k + after.ahead);
  }
  if (actor.behind.valid() && state_.streams[actor.behind].done < head.needed()) {
    // Finds the last op that was launched earlier on the stream `behind`.
    std::uint32_t left = head.needed() - state_.streams[actor.behind].done;
    std::uint32_t i = 0;
    for (const StreamItem item : state_.items_of(actor.behind)) {
      if (item.kind() == StreamItem::Kind::kOp && --left == 0) break;
      ++i;
    }
    add_item(WaitKind::kStreamOrder, actor.behind, i);
  }
  for (std::uint32_t i = actor.lines; i < actor.lines_end; ++i) {
    const LineId line = plan_.actor_lines[i];
    const StreamId first = state_.lines[line].front();
    if (first != id) add_item(WaitKind::kStreamOrder, first, state_.item_in_line(plan_, line, 0));
  }
}

// Rule 9.6.1: adds the edges of a stream's head that lacks slots or a queue position.
void WaitGraphBuilder::add_slot_edges(StreamId id) {
  const Stream& stream = plan_.streams[id];
  const Device& device = plan_.devices[stream.device];
  const DeviceState& device_state = state_.devices[stream.device];
  const ActorId head = state_.streams[id].items.front().actor();
  const Role role = plan_.actors[head].role;
  // Adds an edge to the first queued op of stream `other`; `stands(actor, started)` returns whether
  // an op is in the queue.
  const auto add_first = [&](StreamId other, auto stands) {
    const bool started = state_.streams[other].head_start != kNever;
    std::uint32_t i = 0;
    for (const StreamItem item : state_.items_of(other)) {
      if (item.kind() == StreamItem::Kind::kOp && stands(item.actor(), i == 0 && started)) break;
      ++i;
    }
    if (i == state_.streams[other].items.size() || (other == id && i == 0)) return;
    add_item(WaitKind::kKernelSlots, other, i);
  };
  if (device.queues(role)) {
    add_first(device_state.hardware_queues[stream.hardware_queue].front(),
              [&](ActorId it, bool started) {
                const Role its = plan_.actors[it].role;
                return device.queues(its) && !(started && device.leaves_queue_at_start(its));
              });
  }
  if (plan_.in_order(device, head)) {
    add_first(device_state.launch_order.front(), [&](ActorId it, bool started) {
      return plan_.in_order(device, it) && (device.serial() || !started);
    });
  }
  const Actor& actor = plan_.actors[head];
  if (device.resident == 0 || actor.kernel_slots == 0) return;
  if (device.resident - device_state.resident >= actor.gang) return;
  const std::size_t before = edges_.size();
  for (std::uint32_t i = device.streams; i < device.streams_end; ++i) {
    const StreamId other = plan_.device_streams[i];
    if (other == id || state_.streams[other].slots == 0) continue;
    add_head(WaitKind::kKernelSlots, plan_.device_streams[i]);
  }
  make_any_set(before);
}

// Adds an edge to the record after which the signal has fired `needed` times. The record is
// launched and not done.
void WaitGraphBuilder::add_record(WaitKind kind, SignalId id, std::uint32_t needed) {
  const StreamId stream = plan_.signals[id].stream;
  std::uint32_t missing = needed - state_.signals[id].fired;
  const auto is_record = [&](StreamItem item) {
    if (item.kind() != StreamItem::Kind::kOp) return false;
    const Actor& actor = plan_.actors[item.actor()];
    return actor.role == Role::kRecord && actor.signal == id;
  };
  std::uint32_t i = 0;
  for (const StreamItem item : state_.items_of(stream)) {
    if (is_record(item) && --missing == 0) return add_item(kind, stream, i);
    ++i;
  }
  PIPESIM_CHECK(false, {"signal", id.value});
}

// Rule 9.6.4: adds the edges of a blocked host step.
void WaitGraphBuilder::add_host_step_edges(ActorId id) {
  const Actor& actor = plan_.actors[id];
  switch (actor.role) {
    case Role::kSynchronize:
    case Role::kAbort:
    case Role::kDrain:
      return add_marked_streams(WaitKind::kHostWait, StreamItem::synchronize_mark(actor.thread));
    case Role::kAwait:
      if (!plan_.signals[actor.signal].recorded()) return add_setters(actor.signal);
      return add_record(WaitKind::kHostWait, actor.signal, state_.threads[actor.thread].needed);
    case Role::kLock:
      return add_holder(actor.lock);
    case Role::kMeet:
      return add_meet_edges(id);
    default:
      PIPESIM_CHECK(!facts(actor.role).blocks, {"actor", id.value});
  }
}

void WaitGraphBuilder::add_setters(SignalId id) {
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
    if (next == plan_.actors[setter->second].ops) continue;
    add_op(WaitKind::kHostWait, setter->second, next);
  }
  if (edges_.size() == before) add(WaitKind::kHostWait, op_nodes_ + plan_.rank_count);
  make_any_set(before);
}

void WaitGraphBuilder::add_holder(LockId id) {
  const ThreadId holder = state_.locks[id].holder;
  const Thread& thread = plan_.threads[holder];
  const std::uint32_t next = thread.program + state_.threads[holder].next_op;
  if (next == thread.program_end) {
    add_rank(WaitKind::kLock, thread.rank);
  } else {
    const ActorId actor = plan_.op(thread, next);
    add_op(WaitKind::kLock, actor, state_.actors[actor].launched);
  }
}

// Rules 7.3 and 7.4: adds the edges of the next op of an actor or of a program.
void WaitGraphBuilder::add_next_edges(ActorId actor) {
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

void WaitGraphBuilder::add_launch_edges(ActorId actor, Step step) {
  switch (step) {
    case Step::kOutsideInput:
      add(WaitKind::kOutsideInput, op_nodes_ + plan_.rank_count);
      break;
    case Step::kInit:
      add_init_edges(actor);
      break;
    case Step::kConnection:
      add_connection_edges(actor);
      break;
    case Step::kHostStep:
      add_host_step_edges(actor);
      break;
    case Step::kLaunchQueue:
      add_launch_queue(plan_.actors[actor].stream);
      break;
    case Step::kNone:
    case Step::kOverhead:
    case Step::kCompletion:
      break;  // not blocked, a step that ends by itself, or already launched
  }
}

// Adds the edges of a full launch queue: any op that ends frees a place.
void WaitGraphBuilder::add_launch_queue(StreamId id) {
  const Stream& stream = plan_.streams[id];
  if (!stream.shares_queue) return add_head(WaitKind::kLaunchQueue, id);
  const Device& device = plan_.devices[stream.device];
  const std::size_t before = edges_.size();
  for (std::uint32_t i = device.streams; i < device.streams_end; ++i) {
    const StreamId each = plan_.device_streams[i];
    if (!state_.streams[each].items.empty()) add_head(WaitKind::kLaunchQueue, each);
  }
  make_any_set(before);
}

// Adds edges to the heads of the streams that hold `mark`.
void WaitGraphBuilder::add_marked_streams(WaitKind kind, StreamItem mark) {
  if (!has_marked_streams_) find_marked_streams();
  auto stream = std::lower_bound(marked_streams_.begin(), marked_streams_.end(),
                                 std::pair(mark.mark(), StreamId{0}));
  for (; stream != marked_streams_.end() && stream->first == mark.mark(); ++stream) {
    add_head(kind, stream->second);
  }
}

void WaitGraphBuilder::find_marked_streams() {
  has_marked_streams_ = true;
  for (const StreamId stream : ids_of(plan_.streams)) {
    for (const StreamItem item : state_.items_of(stream)) {
      if (item.kind() == StreamItem::Kind::kOp) continue;
      marked_streams_.emplace_back(item.mark(), stream);
    }
  }
  std::sort(marked_streams_.begin(), marked_streams_.end());
  marked_streams_.erase(std::unique(marked_streams_.begin(), marked_streams_.end()),
                        marked_streams_.end());
}

void WaitGraphBuilder::add_unmet_edges(ActorId id, std::uint32_t k) {
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

void WaitGraphBuilder::add_input_edge(ActorId actor, EdgeId edge_id, std::uint32_t k) {
  const Edge& edge = plan_.edges[edge_id];
  const Register& reg = plan_.registers[edge.source];
  const std::uint32_t fills = (k / edge.ops_per_slot + 1) * reg.ops_per_slot - 1;
  const ActorState& producer = state_.actors[reg.producer];
  const bool sent = fills < (edge.data_at_launch ? producer.launched : producer.done);
  if (sent) {
    add_blocker(plan_.actors[actor].thread);
  } else {
    add_op(WaitKind::kData, reg.producer, fills, edge.source);
  }
}

void WaitGraphBuilder::add_register_edges(RegisterId id, std::uint32_t k) {
  const Register& reg = plan_.registers[id];
  const WaitKind kind = reg.control ? WaitKind::kCreditControl : WaitKind::kCreditData;
  const bool drains = reg.drain_every > 0 && k % reg.drain_every == 0;
  const std::uint32_t slot = k / reg.ops_per_slot - (drains ? 1 : reg.slots);
  add_unacknowledged(id, slot, kind);
}

// Adds a wait for each edge of `reg` whose acknowledgement of `slot` the producer's thread has not
// counted.
void WaitGraphBuilder::add_unacknowledged(RegisterId reg, std::uint32_t slot, WaitKind kind) {
  const RankId rank = plan_.actors[plan_.registers[reg].producer].rank;
  for (const EdgeId edge : plan_.edges_of(reg)) {
    if (state_.edges[edge].acknowledged > slot) continue;
    if (dead(rank)) return add_rank(kind, rank);  // a dead rank passes nothing on
    add_acknowledgement(edge, slot, kind);
  }
}

void WaitGraphBuilder::add_acknowledgement(EdgeId edge_id, std::uint32_t slot, WaitKind kind) {
  const Edge& edge = plan_.edges[edge_id];
  const ActorState& consumer = state_.actors[edge.consumer];
  const std::uint32_t releases = (slot + 1) * edge.ops_per_slot - 1;
  if (consumer.launched <= releases) {
    add_op(kind, edge.consumer, releases, edge.source);
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
    add_op(kind, edge.consumer, releases, edge.source);
    return;
  }
  add_blocker(plan_.actors[plan_.registers[edge.source].producer].thread);
}

// Whether the acknowledgement of `slot` is still queued in its sender's stream. The
// acknowledgements sent along the edge are, in order: counted, in an inbox, in the stream.
bool WaitGraphBuilder::is_mark(EdgeId edge_id, std::uint32_t slot) const {
  const Edge& edge = plan_.edges[edge_id];
  std::uint32_t marks = 0;
  for (const StreamItem item : state_.items_of(plan_.actors[edge.consumer].stream)) {
    if (item.kind() == StreamItem::Kind::kAckMark && item.edge() == edge_id) ++marks;
  }
  return slot + marks >= state_.registers[edge.in_place].returned;
}

// ---------------------------------------------------------------------------------------------

WaitGraph WaitGraphBuilder::compact() {
  const std::uint32_t outside = op_nodes_ + plan_.rank_count;
  std::vector<std::uint8_t> used(outside + 1, 0);
  for (const ActorId actor : ids_of(plan_.actors)) {
    const ActorState& state = state_.actors[actor];
    const std::uint32_t next = first_node_[actor] + state.launched - state.done;
    if (dead(plan_.actors[actor].rank)) continue;
    for (std::uint32_t node = first_node_[actor]; node < next; ++node) used[node] = 1;
    const bool work_left = state.launched < plan_.actors[actor].ops;
    if (work_left && has_next_node(actor)) used[next] = 1;
  }
  // Two passes: the first can make the extra op of a source (see has_next_node) a node; the second
  // adds the targets of that node.
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
           {WaitNodeKind::kOp, actor, k, plan_.actors[actor].rank});
    }
  }
  for (std::uint32_t rank = 0; rank < plan_.rank_count; ++rank) {
    keep(op_nodes_ + rank, {WaitNodeKind::kRank, ActorId(), 0, RankId{rank}});
  }
  keep(outside, {WaitNodeKind::kOutside, ActorId(), 0, RankId()});
  for (WaitEdge& edge : edges_) {
    if (used[edge.from] == 0) continue;  // the extra op of a source, for which no op waits
    edge.from = index[edge.from];
    edge.to = index[edge.to];
    graph.edges.push_back(edge);
  }
  std::stable_sort(graph.edges.begin(), graph.edges.end(),
                   [](const WaitEdge& a, const WaitEdge& b) { return a.from < b.from; });
  return graph;
}

WaitGraph wait_graph(const Plan& plan, const State& state) {
  return WaitGraphBuilder(plan, state).build();
}

}  // namespace pipesim::sim
