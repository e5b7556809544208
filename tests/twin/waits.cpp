// The rules of section 7, one function per rule. Nodes are visited from a list that starts with
// the acts the section names; the act for which a source waits beyond its work joins it when
// something turns out to wait for it.
#include "tests/twin/waits.hpp"

#include <set>
#include <vector>

namespace pipesim::twin {
namespace {

class Waits {
 public:
  explicit Waits(Machine& machine) : m_(machine) {}

  WaitEdges find() {
    std::vector<Act> to_visit = named_acts();
    const std::set<Act> named(to_visit.begin(), to_visit.end());
    std::set<Act> seen = named;
    for (std::size_t i = 0; i < to_visit.size(); ++i) {
      const Act act = to_visit[i];
      found_.clear();
      visit(act);
      must(!found_.empty(), "nothing explains why " + text(act_node(act)) + " waits");
      for (const auto& [edge, any] : found_) {
        edges_[edge] = any;
        if (edge.to.kind != NodeKind::kAct || !seen.insert(edge.to.act).second) continue;
        must(is_beyond_work(edge.to.act), text(edge) + " ends at no node");
        m_.branches.insert("7 act beyond its work");
        to_visit.push_back(edge.to.act);
      }
    }
    return edges_;
  }

 private:
  // Nodes -----------------------------------------------------------------------------------------

  bool on_program(int actor) const { return at(m_.spec.threads, m_.actor(actor).thread).program; }

  Act next_act(int actor) const { return {actor, at(m_.launched, actor)}; }

  bool work_left(int actor) const { return at(m_.launched, actor) < m_.actor(actor).acts; }

  /// The act for which a source waits though its work is done. No program contains such an act.
  bool is_beyond_work(Act act) const {
    return act.k == m_.actor(act.actor).acts && m_.waits_beyond_its_work(act.actor) &&
           !on_program(act.actor);
  }

  /// All nodes that are acts, but for those beyond their work.
  std::vector<Act> named_acts() const {
    std::vector<Act> acts;
    for (const auto& [act, times] : m_.times) {
      if (!m_.is_done(act)) acts.push_back(act);
    }
    for (int a = 0; a < count_of(m_.spec.actors); ++a) {
      if (!on_program(a) && work_left(a)) acts.push_back(next_act(a));
    }
    for (int t = 0; t < count_of(m_.spec.threads); ++t) {
      const std::optional<int> next = m_.next_in_program(t);
      if (at(m_.spec.threads, t).program && next) acts.push_back(next_act(*next));
    }
    return acts;
  }

  /// "The node of act (A, k)".
  Node node_of(Act act) const {
    if (m_.was_launched(act)) {
      must(!m_.is_done(act), "something waits for an act that is done");
      return act_node(act);
    }
    const int thread = m_.actor(act.actor).thread;
    if (act.k >= m_.actor(act.actor).acts) {
      return rank_node(at(m_.spec.threads, thread).rank);
    }
    if (!on_program(act.actor)) return act_node(next_act(act.actor));
    const std::optional<int> next = m_.next_in_program(thread);
    must(next.has_value(), "a program has ended before its work");
    return act_node(next_act(*next));
  }

  /// "The blocker of thread T".
  Node blocker_of_thread_of(int actor) const {
    const std::optional<Blocked>& blocked = at(m_.threads, m_.actor(actor).thread).blocked;
    must(blocked.has_value(), "a message is unread, but its thread is not blocked");
    return act_node(blocked->act);
  }

  Node first_act_of(int stream) const {
    const std::optional<Act> first = m_.first_act(stream);
    must(first.has_value(), "a wait for an empty stream");
    return act_node(*first);
  }

  void add(Act from, Node to, Wait kind, bool any = false) {
    found_[{act_node(from), to, kind}] = any;
  }

  // Edges of an act -------------------------------------------------------------------------------

  void visit(Act act) {
    const std::optional<Blocked>& blocked = at(m_.threads, m_.actor(act.actor).thread).blocked;
    if (m_.was_launched(act)) {
      visit_launched(act);
    } else if (blocked && blocked->act == act) {
      visit_blocked_thread(act, blocked->step);
    } else {
      visit_not_entered(act);
    }
  }

  /// Rules 1 and 2.
  void visit_launched(Act act) {
    const Node first = first_act_of(m_.actor(act.actor).stream);
    if (first != act_node(act)) {
      add(act, first, Wait::kStreamOrder);
      return;
    }
    const int collective = m_.actor(act.actor).collective;
    must(collective >= 0, "an ordinary op runs for ever");
    for (const Member& member : at(m_.spec.collectives, collective).members) {
      const Act its_act{member.actor, act.k};
      if (member.actor < 0) {
        add(act, rank_node(member.rank), Wait::kPeerOfCollective);
      } else if (!m_.was_launched(its_act) || m_.times.at(its_act).start < 0) {
        add(act, node_of(its_act), Wait::kPeerOfCollective);
      }
    }
  }

  /// Rule 3.
  void visit_blocked_thread(Act act, Step step) {
    const int collective = m_.actor(act.actor).collective;
    switch (step) {
      case Step::kOutsideInput:
        add(act, outside_node(), Wait::kOutsideInput);
        return;
      case Step::kCreation:
        visit_creation(act, at(m_.spec.collectives, collective).communicator);
        return;
      case Step::kLaunchQueue:
        add(act, first_act_of(m_.actor(act.actor).stream), Wait::kLaunchQueue);
        return;
      case Step::kOverhead:
      case Step::kBlocking:
        must(false, "blocked for ever in a step that always ends");
    }
  }

  void visit_creation(Act act, int communicator) {
    if (m_.all_arrived(communicator)) {
      for (int s : at(m_.communicators, communicator).streams_marked) {
        m_.branches.insert("7 creation waits for a mark");
        add(act, first_act_of(s), Wait::kCommunicatorCreation);
      }
      return;
    }
    for (int rank : at(m_.spec.communicators, communicator).ranks) {
      if (at(m_.communicators, communicator).arrived.contains(rank)) continue;
      const std::set<Node> users = users_with_work(communicator, rank);
      for (const Node& user : users) {
        add(act, user, Wait::kCommunicatorCreation, users.size() > 1);
      }
      if (users.empty()) add(act, rank_node(rank), Wait::kCommunicatorCreation);
    }
  }

  std::set<Node> users_with_work(int communicator, int rank) const {
    std::set<Node> users;
    for (int a = 0; a < count_of(m_.spec.actors); ++a) {
      const int collective = m_.actor(a).collective;
      if (collective < 0 || !work_left(a)) continue;
      if (at(m_.spec.collectives, collective).communicator != communicator) continue;
      if (at(m_.spec.threads, m_.actor(a).thread).rank == rank) users.insert(node_of(next_act(a)));
    }
    return users;
  }

  /// Rule 4.
  void visit_not_entered(Act act) {
    for (int e : at(m_.inputs_of_actor, act.actor)) visit_input(act, e);
    for (int r : at(m_.registers_of_actor, act.actor)) {
      if (m_.has_edges(r)) visit_register(act, r);
    }
    if (found_.empty()) add(act, blocker_of_thread_of(act.actor), Wait::kHostWait);
    const std::optional<Blocked>& blocked = at(m_.threads, m_.actor(act.actor).thread).blocked;
    if (on_program(act.actor) && blocked) {
      m_.branches.insert("7 program blocked in another act");
      add(act, act_node(blocked->act), Wait::kHostWait);
    }
  }

  void visit_input(Act act, int e) {
    const int slot = act.k / m_.edge(e).acts_per_slot;
    if (at(m_.available, e).contains(slot)) return;
    const int producer = m_.producer_of(e);
    const Act fills{producer, (slot + 1) * m_.reg(m_.edge(e).reg).acts_per_slot - 1};
    const bool was_sent =
        m_.leaves_at_launch(producer, act.actor) ? m_.was_launched(fills) : m_.is_done(fills);
    if (was_sent) {
      m_.branches.insert("7 data is unread");
      add(act, blocker_of_thread_of(act.actor), Wait::kHostWait);
    } else {
      add(act, node_of(fills), Wait::kData);
    }
  }

  void visit_register(Act act, int r) {
    const Register& reg = m_.reg(r);
    if (act.k % reg.acts_per_slot != 0) return;
    const int group = act.k / reg.acts_per_slot;
    const bool must_drain = reg.drain_every > 0 && act.k % reg.drain_every == 0;
    if (must_drain && m_.credits_free(r) < reg.slots) {
      m_.branches.insert("7 drain");
      visit_credit(act, r, group - 1);
    } else if (m_.credits_free(r) == 0) {
      visit_credit(act, r, group - reg.slots);
    }
  }

  void visit_credit(Act act, int r, int slot) {
    const std::map<int, std::set<int>>& out = at(m_.slots_out, r);
    must(out.contains(slot), "a wait for a credit that is free");
    for (int e : at(m_.edges_of_register, r)) {
      if (!out.at(slot).contains(e)) visit_acknowledgement(act, e, slot);
    }
  }

  /// "The wait for the acknowledgement" of a slot along an edge.
  void visit_acknowledgement(Act act, int e, int slot) {
    const int producer = m_.producer_of(e);
    const int consumer = m_.edge(e).consumer;
    const Wait kind = m_.reg(m_.edge(e).reg).control ? Wait::kCreditControl : Wait::kCreditData;
    const Act acknowledges{consumer, (slot + 1) * m_.edge(e).acts_per_slot - 1};
    if (!m_.was_launched(acknowledges)) {
      add(act, node_of(acknowledges), kind);
    } else if (m_.reused_by(e) >= 0) {
      visit_in_place(act, e, slot);
    } else if (!m_.leaves_at_launch(consumer, producer) && !m_.is_done(acknowledges)) {
      add(act, act_node(acknowledges), kind);
    } else {
      m_.branches.insert("7 acknowledgement is unread");
      add(act, blocker_of_thread_of(producer), Wait::kHostWait);
    }
  }

  void visit_in_place(Act act, int e, int slot) {
    const int reuses = m_.reused_by(e);
    const std::map<int, std::set<int>>& out = at(m_.slots_out, reuses);
    if (out.contains(slot)) {
      m_.branches.insert("7 in place: through the register that reuses it");
      visit_credit(act, reuses, slot);
      return;
    }
    const int stream = m_.actor(m_.edge(e).consumer).stream;
    if (mark_stands_in(stream, e, slot)) {
      m_.branches.insert("7 in place: mark stands in the stream");
      add(act, first_act_of(stream), Wait::kStreamOrder);
    } else {
      m_.branches.insert("7 in place: unread");
      add(act, blocker_of_thread_of(m_.producer_of(e)), Wait::kHostWait);
    }
  }

  bool mark_stands_in(int stream, int e, int slot) const {
    for (const Entry& entry : at(m_.streams, stream).entries) {
      const std::optional<Message>& message = entry.acknowledgement;
      if (message && message->edge == e && message->slot == slot) return true;
    }
    return false;
  }

  Machine& m_;
  WaitEdges found_;  // of the act that is visited
  WaitEdges edges_;
};

/// Depth first from `node`, with the nodes of the way there in `path`.
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

Node act_node(Act act) { return {NodeKind::kAct, act, 0}; }
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
  return "act " + std::to_string(node.act.actor) + '#' + std::to_string(node.act.k);
}

std::string text(const WaitEdge& edge) {
  static const std::vector<std::string> kNames = {"stream order",         "data",
                                                  "credit (data)",        "credit (control)",
                                                  "peer of a collective", "communicator creation",
                                                  "launch queue",         "host wait",
                                                  "outside input"};
  return text(edge.from) + " -> " + text(edge.to) + ": " + at(kNames, static_cast<int>(edge.kind));
}

}  // namespace pipesim::twin
