// The twin's wait-for graph, with one function per rule of sections 7, 9.6 and 10.6. The list of
// nodes to visit starts with the ops that section 7 names. The op in which a source waits although
// its work is done joins the list when another node waits for it.
#include "tests/twin/waits.hpp"

#include <algorithm>
#include <set>
#include <vector>

namespace pipesim::twin {
namespace {

class Waits {
 public:
  explicit Waits(Machine& machine) : m_(machine) {}

  WaitEdges find() {
    std::vector<Op> to_visit = named_ops();
    const std::set<Op> named(to_visit.begin(), to_visit.end());
    std::set<Op> seen = named;
    for (std::size_t i = 0; i < to_visit.size(); ++i) {
      const Op op = to_visit[i];
      found_.clear();
      visit(op);
      must(!found_.empty() || explained_.contains(op),
           "nothing explains why " + text(op_node(op)) + " waits");
      for (const auto& [edge, any] : found_) {
        edges_[edge] = any;
        if (edge.to.kind != NodeKind::kOp || !seen.insert(edge.to.op).second) continue;
        must(is_beyond_work(edge.to.op), text(edge) + " ends at no node");
        m_.branches.insert("7 act beyond its work");
        to_visit.push_back(edge.to.op);
      }
    }
    return edges_;
  }

 private:
  // Nodes -----------------------------------------------------------------------------------------

  bool on_program(int actor) const { return at(m_.spec.threads, m_.actor(actor).thread).program; }

  Op next_op(int actor) const { return {actor, at(m_.launched, actor)}; }

  bool work_left(int actor) const { return at(m_.launched, actor) < m_.actor(actor).ops; }

  /// Whether a source waits in this op although its work is done. A program never contains such an
  /// op.
  bool is_beyond_work(Op op) const {
    return op.k == m_.actor(op.actor).ops && m_.waits_beyond_its_work(op.actor) &&
           !on_program(op.actor);
  }

  /// Returns all nodes that are ops, except ops in which a source waits although its work is done.
  std::vector<Op> named_ops() const {
    std::vector<Op> ops;
    for (const auto& [op, times] : m_.times) {
      if (!m_.is_done(op)) ops.push_back(op);
    }
    for (int a = 0; a < count_of(m_.spec.actors); ++a) {
      if (!on_program(a) && work_left(a)) ops.push_back(next_op(a));
    }
    for (int t = 0; t < count_of(m_.spec.threads); ++t) {
      const std::optional<int> next = m_.next_in_program(t);
      if (at(m_.spec.threads, t).program && next) ops.push_back(next_op(*next));
    }
    std::erase_if(ops, [this](const Op& op) { return m_.is_dead(m_.rank_of(op.actor)); });
    return ops;
  }

  /// Returns the node of an op or, if its rank is dead, the node of the rank [10.6].
  Node node_here(Op op) const {
    const int rank = m_.rank_of(op.actor);
    return m_.is_dead(rank) ? rank_node(rank) : op_node(op);
  }

  /// Returns what the rules call "the node of op (A, k)".
  Node node_of(Op op) const {
    if (m_.is_dead(m_.rank_of(op.actor))) return node_here(op);
    if (m_.was_launched(op)) {
      must(!m_.is_done(op), "something waits for an act that is done");
      return op_node(op);
    }
    const int thread = m_.actor(op.actor).thread;
    if (op.k >= m_.actor(op.actor).ops) {
      return rank_node(at(m_.spec.threads, thread).rank);
    }
    if (!on_program(op.actor)) return op_node(next_op(op.actor));
    const std::optional<int> next = m_.next_in_program(thread);
    must(next.has_value(), "a program has ended before its work");
    return op_node(next_op(*next));
  }

  /// Returns what the rules call "the blocker of thread T", for the thread of an actor.
  Node blocker_of_thread_of(int actor) const {
    must(!m_.is_dead(m_.rank_of(actor)), "messages to a dead rank are lost, and not unread");
    const std::optional<Blocked>& blocked = at(m_.threads, m_.actor(actor).thread).blocked;
    must(blocked.has_value(), "a message is unread, but its thread is not blocked");
    return op_node(blocked->op);
  }

  Node first_op_of(int stream) const {
    const std::optional<Op> first = m_.first_op(stream);
    must(first.has_value(), "a wait for an empty stream");
    return node_here(*first);
  }

  /// Adds an edge, unless an equal edge exists.
  void add(Op from, Node to, Wait kind, bool any = false) {
    if (to.kind == NodeKind::kRank && m_.is_dead(to.rank)) kind = Wait::kDeadRank;
    must(to.kind != NodeKind::kOp || !m_.is_dead(m_.rank_of(to.op.actor)),
         "an edge leads to an act of a dead rank");
    const auto [found, is_new] = found_.emplace(WaitEdge{op_node(from), to, kind}, any);
    if (!is_new && found->second != any) m_.branches.insert("9.6 duplicate in an ANY set");
  }

  /// Adds edges to the nodes `to`, of which one suffices if there are several; if `to` is empty,
  /// adds an edge to `otherwise`.
  void add_any(Op from, const std::set<Node>& to, Wait kind, Node otherwise) {
    for (const Node& node : to) add(from, node, kind, to.size() > 1);
    if (to.empty()) add(from, otherwise, kind);
  }

  /// Returns the nodes of the next ops of the accepted actors that have work left.
  template <typename Accepts>
  std::set<Node> next_ops(Accepts accepts) const {
    std::set<Node> nodes;
    for (int a = 0; a < count_of(m_.spec.actors); ++a) {
      if (work_left(a) && accepts(a)) nodes.insert(node_of(next_op(a)));
    }
    return nodes;
  }

  // Edges of an op --------------------------------------------------------------------------------

  void visit(Op op) {
    const std::optional<Blocked>& blocked = at(m_.threads, m_.actor(op.actor).thread).blocked;
    if (m_.was_launched(op)) {
      visit_launched(op);
    } else if (blocked && blocked->op == op) {
      visit_blocked_thread(op, blocked->step);
    } else {
      visit_not_entered(op);
    }
  }

  /// Adds the edges of a launched op: rules 1 and 2.
  void visit_launched(Op op) {
    const Node first = first_op_of(m_.actor(op.actor).stream);
    if (first != op_node(op)) {
      add(op, first, Wait::kStreamOrder);
      return;
    }
    const int rank = m_.rank_of(op.actor);
    if (m_.has_stopped(rank)) return add(op, rank_node(rank), Wait::kDeadRank);
    if (!m_.was_started(op)) return visit_not_started(op);
    switch (m_.actor(op.actor).role) {
      case Role::kOp:
        return visit_op(op);
      case Role::kCalls:
        return visit_calls(op);
      case Role::kWait:
        return visit_record(op, m_.needs.at(op), Wait::kStreamOrder);
      default:
        must(false, "a record runs for ever");
    }
  }

  void visit_op(Op op) {
    const int collective = m_.actor(op.actor).collective;
    must(collective >= 0, "an ordinary op runs for ever");
    for (const Member& member : at(m_.spec.collectives, collective).members) {
      const Op its_op{member.actor, op.k};
      if (member.actor < 0) {
        add(op, rank_node(member.rank), Wait::kPeerOfCollective);
      } else if (!m_.was_started(its_op) || m_.has_stopped(member.rank)) {
        if (m_.was_started(its_op)) m_.branches.insert("10.6 a member that started has stopped");
        add(op, node_of(its_op), Wait::kPeerOfCollective);
      }
    }
    const auto hangs = m_.ops_that_hang.find(op);
    if (hangs != m_.ops_that_hang.end()) add_failed_link(op, hangs->second);
  }

  /// Adds the edges of an op that is at the head of its stream but has not started: rule 5.
  void visit_not_started(Op op) {
    for (const Op& other : m_.awaited_by(op)) {
      m_.branches.insert(m_.was_launched(other) ? "7 act of another stream is launched"
                                                : "7 act of another stream is not launched");
      add(op, node_of(other), Wait::kData);
    }
    if (const std::optional<Op> last = m_.last_that_it_is_behind(op)) {
      m_.branches.insert("7 behind another stream");
      add(op, op_node(*last), Wait::kStreamOrder);
    }
    for (const Op& first : m_.not_first_in_line(op)) {
      m_.branches.insert("7 behind in a line");
      add(op, op_node(first), Wait::kStreamOrder);
    }
    const bool waits_for_streams = !found_.empty();
    if (m_.is_on_limited_device(m_.actor(op.actor).stream)) visit_slots(op);
    if (waits_for_streams && found_.size() > 1)
      m_.branches.insert("7 several reasons not to start");
  }

  /// Adds the edges of an op in which its thread is blocked: rule 3.
  void visit_blocked_thread(Op op, Step step) {
    switch (step) {
      case Step::kOutsideInput:
        add(op, outside_node(), Wait::kOutsideInput);
        return;
      case Step::kInit:
        visit_init(op, *at(m_.threads, m_.actor(op.actor).thread).blocked);
        return;
      case Step::kLaunchQueue:
        visit_launch_queue(op);
        return;
      case Step::kConnection:
        visit_meetings(op);
        return;
      case Step::kHost:
        visit_host(op);
        return;
      case Step::kOverhead:
      case Step::kBlocking:
        must(false, "blocked for ever in a step that always ends");
    }
  }

  void visit_launch_queue(Op op) {
    const int stream = m_.actor(op.actor).stream;
    std::set<Node> first;
    for (int each : m_.streams_of_queue(stream)) {
      if (m_.first_op(each)) first.insert(first_op_of(each));
    }
    if (first.size() > 1) m_.branches.insert("7 any act of a device makes room");
    add_any(op, first, Wait::kLaunchQueue, outside_node());
  }

  void visit_init(Op op, const Blocked& blocked) {
    const int communicator = blocked.communicator;
    if (blocked.link_was_down) {
      return add_failed_link(op, m_.arrival_link_of(communicator, m_.rank_of(op.actor)));
    }
    for (int rank : at(m_.spec.communicators, communicator).ranks) {
      if (!m_.is_dead(rank)) continue;
      if (at(m_.communicators, communicator).arrived.contains(rank)) {
        m_.branches.insert("10.6 creation with a dead rank that had arrived");
      }
      add(op, rank_node(rank), Wait::kCommunicatorInit);
    }
    if (m_.all_arrived(communicator) && found_.empty()) {
      for (int s : at(m_.communicators, communicator).streams_marked) {
        m_.branches.insert("7 creation waits for a mark");
        add(op, first_op_of(s), Wait::kCommunicatorInit);
      }
      return;
    }
    for (int rank : at(m_.spec.communicators, communicator).ranks) {
      if (at(m_.communicators, communicator).arrived.contains(rank) || m_.is_dead(rank)) continue;
      const std::set<Node> users =
          next_ops([&](int a) { return m_.rank_of(a) == rank && uses(a, communicator); });
      add_any(op, users, Wait::kCommunicatorInit, rank_node(rank));
    }
  }

  /// Adds the edges of an op whose thread waits at meetings [9.7].
  void visit_meetings(Op op) {
    for (const Coming& coming : at(m_.threads, m_.actor(op.actor).thread).waits_at) {
      const MeetingKey& meeting = coming.meeting;
      const Wait kind = meeting.step >= 0   ? Wait::kHostMeeting
                        : meeting.from >= 0 ? Wait::kFirstMessage
                                            : Wait::kFirstCollective;
      for (int rank : m_.ranks_of(meeting)) {
        if (m_.is_dead(rank)) {
          add(op, rank_node(rank), kind);
          continue;
        }
        if (m_.times_come(meeting, rank) >= coming.number) continue;
        const std::set<Node> users =
            next_ops([&](int a) { return m_.rank_of(a) == rank && m_.will_come(a, meeting); });
        if (users.empty()) m_.branches.insert("9.7 a rank that never comes");
        if (users.size() > 1) m_.branches.insert("9.7 several that may come");
        add_any(op, users, kind, rank_node(rank));
      }
    }
  }

  bool uses(int a, int communicator) const {
    const Actor& actor = m_.actor(a);
    if (actor.communicator >= 0) return actor.communicator == communicator;
    if (actor.collective >= 0) {
      return at(m_.spec.collectives, actor.collective).communicator == communicator;
    }
    return std::any_of(actor.calls.begin(), actor.calls.end(),
                       [&](const Call& call) { return call.communicator == communicator; });
  }

  /// Adds the edges of an op that its thread has not entered: rule 4.
  void visit_not_entered(Op op) {
    for (int e : at(m_.inputs_of_actor, op.actor)) visit_input(op, e);
    for (int r : at(m_.registers_of_actor, op.actor)) {
      if (m_.has_edges(r)) visit_register(op, r);
    }
    if (found_.empty()) add(op, blocker_of_thread_of(op.actor), Wait::kHostWait);
    const std::optional<Blocked>& blocked = at(m_.threads, m_.actor(op.actor).thread).blocked;
    if (on_program(op.actor) && blocked) {
      m_.branches.insert("7 program blocked in another act");
      add(op, op_node(blocked->op), Wait::kHostWait);
    }
  }

  /// Adds the edge of an op that hangs on a link, or cannot arrive over it [10.6].
  void add_failed_link(Op op, int l) {
    const Link& link = at(m_.spec.links, l);
    add(op, rank_node(m_.rank_of(op.actor) == link.b ? link.a : link.b), Wait::kFailedLink);
  }

  void visit_input(Op op, int e) {
    const int slot = op.k / m_.edge(e).ops_per_slot;
    if (at(m_.available, e).contains(slot)) return;
    const int producer = m_.producer_of(e);
    const Op fills{producer, (slot + 1) * m_.reg(m_.edge(e).reg).ops_per_slot - 1};
    const bool was_sent =
        m_.leaves_at_launch(producer, op.actor) ? m_.was_launched(fills) : m_.is_done(fills);
    if (was_sent) {
      m_.branches.insert("7 data is unread");
      add(op, blocker_of_thread_of(op.actor), Wait::kHostWait);
    } else {
      add(op, node_of(fills), Wait::kData);
    }
  }

  void visit_register(Op op, int r) {
    const Register& reg = m_.reg(r);
    if (op.k % reg.ops_per_slot != 0) return;
    const int group = op.k / reg.ops_per_slot;
    const bool must_drain = reg.drain_every > 0 && op.k % reg.drain_every == 0;
    if (must_drain && m_.credits_free(r) < reg.slots) {
      m_.branches.insert("7 drain");
      visit_credit(op, r, group - 1);
    } else if (m_.credits_free(r) == 0) {
      visit_credit(op, r, group - reg.slots);
    }
  }

  void visit_credit(Op op, int r, int slot) {
    const std::map<int, std::set<int>>& out = at(m_.slots_out, r);
    must(out.contains(slot), "a wait for a credit that is free");
    for (int e : at(m_.edges_of_register, r)) {
      if (!out.at(slot).contains(e)) visit_acknowledgement(op, e, slot);
    }
  }

  /// Adds the edge that the rules call "the wait for the acknowledgement" of a slot along an edge.
  void visit_acknowledgement(Op op, int e, int slot) {
    const int producer = m_.producer_of(e);
    const int consumer = m_.edge(e).consumer;
    const Wait kind = m_.reg(m_.edge(e).reg).control ? Wait::kCreditControl : Wait::kCreditData;
    const Op acknowledges{consumer, (slot + 1) * m_.edge(e).ops_per_slot - 1};
    if (!m_.was_launched(acknowledges)) {
      add(op, node_of(acknowledges), kind);
    } else if (m_.reused_by(e) >= 0) {
      visit_in_place(op, e, slot);
    } else if (!m_.leaves_at_launch(consumer, producer) && !m_.is_done(acknowledges)) {
      add(op, node_here(acknowledges), kind);
    } else {
      m_.branches.insert("7 acknowledgement is unread");
      add(op, blocker_of_thread_of(producer), Wait::kHostWait);
    }
  }

  void visit_in_place(Op op, int e, int slot) {
    const int reuses = m_.reused_by(e);
    const std::map<int, std::set<int>>& out = at(m_.slots_out, reuses);
    const int rank = m_.rank_of(m_.edge(e).consumer);
    if (out.contains(slot) && m_.is_dead(rank)) {
      m_.branches.insert("10.6 in place: of a dead rank");
      add(op, rank_node(rank), Wait::kDeadRank);
      return;
    }
    if (out.contains(slot)) {
      m_.branches.insert("7 in place: through the register that reuses it");
      visit_credit(op, reuses, slot);
      return;
    }
    const int stream = m_.actor(m_.edge(e).consumer).stream;
    if (mark_stands_in(stream, e, slot)) {
      m_.branches.insert("7 in place: mark stands in the stream");
      add(op, first_op_of(stream), Wait::kStreamOrder);
    } else {
      m_.branches.insert("7 in place: unread");
      add(op, blocker_of_thread_of(m_.producer_of(e)), Wait::kHostWait);
    }
  }

  bool mark_stands_in(int stream, int e, int slot) const {
    for (const Entry& entry : at(m_.streams, stream).entries) {
      const std::optional<Message>& message = entry.acknowledgement;
      if (message && message->edge == e && message->slot == slot) return true;
    }
    return false;
  }

  // Steps [9.6] -----------------------------------------------------------------------------------

  /// Adds the edges of an op that waits for its device: rule 1.
  void visit_slots(Op op) {
    const int stream = m_.actor(op.actor).stream;
    const int d = at(m_.spec.streams, stream).device;
    must(d >= 0, "room on no device");
    const DeviceState& device = at(m_.devices, d);
    if (m_.in_hardware_queue(op)) {
      const Op first =
          device.hardware_queues.at(at(m_.spec.streams, stream).hardware_queue).front();
      if (first != op) {
        m_.branches.insert("9.6 behind in a hardware queue");
        add(op, op_node(first), Wait::kKernelSlots);
      }
    }
    if (m_.in_launch_order(op) && device.launch_order.front() != op) {
      m_.branches.insert("9.6 behind in the launch order");
      add(op, op_node(device.launch_order.front()), Wait::kKernelSlots);
    }
    if (!m_.needs_slot(op) || m_.can_take_slots(op)) return;
    m_.branches.insert("9.6 no slot is free");
    std::set<Node> holders;
    for (const auto& [holder, slots] : device.holds) {
      if (holder != op) holders.insert(op_node(holder));
    }
    add_any(op, holders, Wait::kKernelSlots, outside_node());
  }

  /// Adds the edges of an op that waits until the event has fired `need` times: rule 2, and part of
  /// rule 4.
  void visit_record(Op op, int need, Wait kind) {
    const SignalState& signal = at(m_.signals, m_.actor(op.actor).signal);
    must(signal.fired < need, "a wait for an event that has fired");
    add(op, node_here(at(signal.records, need - 1)), kind);
  }

  /// Adds the edges of an op with calls: rule 3.
  void visit_calls(Op op) {
    for (int i = 0; i < count_of(m_.actor(op.actor).calls); ++i) {
      const CallState state = m_.call_state({op, i});
      if (!state.active || state.done) continue;
      if (visit_stalled({op, i})) continue;
      if (m_.call_of({op, i}).kind == CallKind::kCollective) {
        visit_round({op, i});
      } else {
        visit_message({op, i});
      }
      if (state.hangs_on >= 0) add_failed_link(op, state.hangs_on);
    }
  }

  /// Adds edges to the next library steps of the ranks for which a stalled call waits. Returns
  /// whether the call is stalled.
  bool visit_stalled(CallRef ref) {
    for (const Machine::Stalled& each : m_.stalled) {
      if (std::find(each.together.begin(), each.together.end(), ref) == each.together.end()) {
        continue;
      }
      for (const CallRef& other : each.together) {
        if (std::find(each.waiting.begin(), each.waiting.end(), other) == each.waiting.end()) {
          continue;
        }
        const int rank = m_.rank_of(other.op.actor);
        const std::set<Node> nodes =
            next_ops([&](int a) { return m_.rank_of(a) == rank && m_.is_library_step(a); });
        if (nodes.empty()) m_.branches.insert("9.6 library call that never comes");
        add_any(ref.op, nodes, Wait::kProgress, rank_node(rank));
      }
      return true;
    }
    return false;
  }

  void visit_round(CallRef ref) {
    const Call& call = m_.call_of(ref);
    if (m_.is_open(call.communicator)) return visit_open_round(ref);
    const RoundState& round = at(m_.rounds, call.communicator);
    for (int rank : at(m_.spec.communicators, call.communicator).ranks) {
      const auto is_of_rank = [&](const CallRef& other) {
        return m_.rank_of(other.op.actor) == rank;
      };
      const auto arrived = std::find_if(round.arrived.begin(), round.arrived.end(), is_of_rank);
      if (arrived != round.arrived.end()) {
        if (!m_.has_stopped(rank)) continue;
        m_.branches.insert("10.6 a rank that arrived in the round has stopped");
        add(ref.op, node_here(arrived->op), Wait::kPeerOfCollective);
        continue;
      }
      add_coming(ref.op, rank, call.communicator, CallKind::kCollective, -1);
    }
    for (const CallRef& other : round.arrived) {
      if (m_.fit(ref, other)) continue;
      must(round.mismatched, "a difference is not recorded");
      add(ref.op, node_here(other.op), Wait::kPeerOfCollective);
    }
  }

  void visit_open_round(CallRef ref) {
    const CallState state = m_.call_state(ref);
    if (state.hangs_on >= 0) return;
    const Call& call = m_.call_of(ref);
    const std::vector<CallRef>& seq = m_.arrived_with(ref);
    if (state.running) {
      for (int rank : at(m_.spec.communicators, call.communicator).ranks) {
        if (!m_.has_stopped(rank)) continue;
        for (const CallRef& other : seq) {
          if (m_.rank_of(other.op.actor) == rank) {
            add(ref.op, node_here(other.op), Wait::kPeerOfCollective);
          }
        }
      }
      return;
    }
    for (int rank : at(m_.spec.communicators, call.communicator).ranks) {
      const bool aborted = m_.aborted.contains({call.communicator, rank});
      if (!aborted && (state.cut || !m_.ranks_waited_for(ref).contains(rank))) continue;
      m_.branches.insert("9.6 waits on an open communicator");
      add_coming(ref.op, rank, call.communicator, CallKind::kCollective, -1);
    }
    if (state.cut) return;
    bool differs = false;
    for (int rank : at(m_.spec.communicators, call.communicator).ranks) {
      for (const CallRef& other : seq) {
        if (m_.rank_of(other.op.actor) != rank || m_.call_state(other).done) continue;
        if (!m_.call_state(other).active || m_.fit(ref, other)) continue;
        add(ref.op, node_here(other.op), Wait::kPeerOfCollective);
        differs = true;
      }
    }
    if (differs || m_.fit(ref, seq.front())) return;
    m_.branches.insert("9.6 those that differ are gone");
    explained_.insert(ref.op);
  }

  void visit_message(CallRef ref) {
    const Call& call = m_.call_of(ref);
    const CallState state = m_.call_state(ref);
    if (state.met) {
      if (!m_.has_stopped(call.peer)) return must(state.hangs_on >= 0, "messages run for ever");
      m_.branches.insert("10.6 a message that has met a rank that has stopped");
      return add(ref.op, node_here(state.met->op), Wait::kPeerOfMessage);
    }
    if (state.running) return must(state.hangs_on >= 0, "a call runs for ever");
    const CallKind other = call.kind == CallKind::kSend ? CallKind::kReceive : CallKind::kSend;
    if (call.peer < 0) return visit_receive_from_any(ref);
    add_coming(ref.op, call.peer, call.communicator, other, m_.rank_of(ref.op.actor));
  }

  /// Adds edges to the ranks that have a send for the recv from any rank; one send suffices.
  void visit_receive_from_any(CallRef ref) {
    const int communicator = m_.call_of(ref).communicator;
    const int own = m_.rank_of(ref.op.actor);
    const auto is_send = [&](const Call& call) {
      return call.communicator == communicator && call.kind == CallKind::kSend && call.peer == own;
    };
    std::set<Node> nodes;
    std::set<Node> others;
    for (int rank : at(m_.spec.communicators, communicator).ranks) {
      if (rank != own) others.insert(rank_node(rank));
      if (const std::optional<Op> coming = launched_call(rank, is_send)) {
        nodes.insert(op_node(*coming));
        continue;
      }
      const std::set<Node> next = next_ops([&](int a) {
        const std::vector<Call>& calls = m_.actor(a).calls;
        return m_.rank_of(a) == rank && std::any_of(calls.begin(), calls.end(), is_send);
      });
      nodes.insert(next.begin(), next.end());
    }
    m_.branches.insert(nodes.empty() ? "9.6 nobody sends to a receive from any rank"
                                     : "9.6 receive from any rank");
    add_any(ref.op, nodes.empty() ? others : nodes, Wait::kPeerOfMessage, rank_node(own));
  }

  /// Adds an edge to the next call of a rank.
  void add_coming(Op op, int rank, int communicator, CallKind kind, int peer) {
    if (m_.is_dead(rank)) return add(op, rank_node(rank), Wait::kDeadRank);
    if (m_.aborted.contains({communicator, rank})) {
      return add(op, rank_node(rank), Wait::kAborted);
    }
    const Wait wait =
        kind == CallKind::kCollective ? Wait::kPeerOfCollective : Wait::kPeerOfMessage;
    const auto is_of_sort = [&](const Call& call) {
      return call.communicator == communicator && call.kind == kind &&
             (kind == CallKind::kCollective || call.peer == peer ||
              (kind == CallKind::kReceive && call.peer < 0));
    };
    if (const std::optional<Op> coming = launched_call(rank, is_of_sort)) {
      m_.branches.insert("9.6 coming call is launched");
      must(*coming != op || rank == peer, "a call comes, but is active");
      if (*coming == op) m_.branches.insert("10.6 a rank waits for its own message");
      return add(op, op_node(*coming), wait);
    }
    const std::set<Node> nodes = next_ops([&](int a) {
      const std::vector<Call>& calls = m_.actor(a).calls;
      return m_.rank_of(a) == rank && std::any_of(calls.begin(), calls.end(), is_of_sort);
    });
    if (nodes.size() > 1) m_.branches.insert("9.6 coming call of several threads");
    if (nodes.empty()) m_.branches.insert("9.6 call that never comes");
    add_any(op, nodes, wait, rank_node(rank));
  }

  /// Returns the first launched op of a rank with a call that `is_of_sort` accepts. All calls of a
  /// rank on a communicator are on one stream or in one line.
  template <typename IsOfSort>
  std::optional<Op> launched_call(int rank, IsOfSort is_of_sort) const {
    for (const auto& [line, ops] : m_.lines) {
      for (const Op& op : ops) {
        if (line.second == rank && has_call(op, is_of_sort, line.first)) return op;
      }
    }
    for (int s = 0; s < count_of(m_.spec.streams); ++s) {
      if (at(m_.spec.streams, s).rank != rank) continue;
      for (const Entry& entry : at(m_.streams, s).entries) {
        if (entry.op && has_call(*entry.op, is_of_sort, -1)) return entry.op;
      }
    }
    return std::nullopt;
  }

  /// Whether the op has a call that `is_of_sort` accepts and that is not done; on `communicator`,
  /// unless it is negative.
  template <typename IsOfSort>
  bool has_call(Op op, IsOfSort is_of_sort, int communicator) const {
    for (int i = 0; i < count_of(m_.actor(op.actor).calls); ++i) {
      const CallRef ref{op, i};
      if (communicator >= 0 && m_.call_of(ref).communicator != communicator) continue;
      if (is_of_sort(m_.call_of(ref)) && !m_.call_state(ref).done) return true;
    }
    return false;
  }

  /// Adds the edges of an op in which a host step blocks: rule 4, except initialization.
  void visit_host(Op op) {
    const Actor& step = m_.actor(op.actor);
    const ThreadState& thread = at(m_.threads, step.thread);
    if (step.role == Role::kSynchronize || step.role == Role::kAbort || step.role == Role::kDrain ||
        (step.role == Role::kMeet && !thread.has_come)) {
      for (int s : at(m_.threads, step.thread).streams_marked) {
        add(op, first_op_of(s), Wait::kHostWait);
      }
    } else if (step.role == Role::kMeet && at(m_.threads, step.thread).has_come) {
      visit_meetings(op);
    } else if (step.role == Role::kAwait) {
      visit_await(op);
    } else {
      must(step.role == Role::kLock, "a step that never waits is blocked");
      const int holder = at(m_.locks, step.lock).holder.value();
      const std::optional<int> next = m_.next_in_program(holder);
      if (!next) m_.branches.insert("9.6 lock stays locked");
      const int rank = at(m_.spec.threads, holder).rank;
      if (m_.is_dead(rank)) m_.branches.insert("10.6 a dead rank of the process holds the lock");
      const bool goes_on = next && !m_.is_dead(rank);
      add(op, goes_on ? op_node(next_op(*next)) : rank_node(rank), Wait::kLock);
    }
  }

  void visit_await(Op op) {
    const Actor& step = m_.actor(op.actor);
    const SignalState& signal = at(m_.signals, step.signal);
    if (at(m_.spec.signals, step.signal).recorded) {
      for (const Waiter& waiter : signal.threads) {
        if (waiter.thread == step.thread) visit_record(op, waiter.need, Wait::kHostWait);
      }
      return;
    }
    const std::set<Node> setters = next_ops(
        [&](int a) { return m_.actor(a).role == Role::kSet && m_.actor(a).signal == step.signal; });
    if (setters.size() > 1) m_.branches.insert("9.6 one of several sets");
    if (setters.empty()) m_.branches.insert("9.6 set that never comes");
    add_any(op, setters, Wait::kHostWait, outside_node());
  }

  Machine& m_;
  WaitEdges found_;         // edges of the visited op
  std::set<Op> explained_;  // ops whose wait a mismatched call of a dead rank explains
  WaitEdges edges_;
};

/// Whether a cycle can be reached from `node`; searches depth first. `path` holds the nodes on the
/// way to `node`.
bool reaches_itself(const Node& node, const std::map<Node, std::vector<Node>>& successors,
                    std::set<Node>& path, std::set<Node>& finished) {
  if (path.contains(node)) return true;
  const auto found = successors.find(node);
  if (found == successors.end() || finished.contains(node)) return false;
  path.insert(node);
  for (const Node& next : found->second) {
    if (reaches_itself(next, successors, path, finished)) return true;
  }
  path.erase(node);
  finished.insert(node);
  return false;
}

}  // namespace

Node op_node(Op op) { return {NodeKind::kOp, op, 0}; }
Node rank_node(int rank) { return {NodeKind::kRank, {}, rank}; }
Node outside_node() { return {NodeKind::kOutside, {}, 0}; }

WaitEdges wait_edges(Machine& machine) { return Waits(machine).find(); }

bool has_cycle(const WaitEdges& edges) {
  std::map<Node, std::vector<Node>> successors;
  for (const auto& [edge, any] : edges) successors[edge.from].push_back(edge.to);
  std::set<Node> finished;
  for (const auto& [node, next] : successors) {
    std::set<Node> path;
    if (reaches_itself(node, successors, path, finished)) return true;
  }
  return false;
}

std::string text(const Node& node) {
  if (node.kind == NodeKind::kOutside) return "outside";
  if (node.kind == NodeKind::kRank) return "rank " + std::to_string(node.rank);
  return "act " + std::to_string(node.op.actor) + '#' + std::to_string(node.op.k);
}

const std::vector<std::string>& wait_names() {
  static const std::vector<std::string> kNames = {"stream order",
                                                  "data",
                                                  "credit (data)",
                                                  "credit (control)",
                                                  "peer of a collective",
                                                  "communicator creation",
                                                  "first message",
                                                  "first collective",
                                                  "host meeting",
                                                  "launch queue",
                                                  "host wait",
                                                  "outside input",
                                                  "device room",
                                                  "peer of a message",
                                                  "lock",
                                                  "progress",
                                                  "dead rank",
                                                  "failed link",
                                                  "aborted communicator"};
  return kNames;
}

std::string text(const WaitEdge& edge) {
  return text(edge.from) + " -> " + text(edge.to) + ": " +
         at(wait_names(), static_cast<int>(edge.kind));
}

}  // namespace pipesim::twin
