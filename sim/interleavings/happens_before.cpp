#include "sim/interleavings/happens_before.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

namespace pipesim::sim {

// The direct predecessors of each node.
struct HappensBefore::Edges {
  std::vector<std::vector<Node>> before;

  void add(Node a, Node b) {
    if (a != b) before[b].push_back(a);
  }
};

HappensBefore::HappensBefore(const Plan& plan, std::uint32_t max_nodes)
    : first_(plan.actors.size()),
      step_(plan.actors.size()),
      end_of_(plan.actors.size()),
      work_(plan.actors.size()) {
  for (const ActorId id : ids_of(plan.actors)) {
    first_[id.value] = node_count_;
    step_[id.value] = on_host(plan.actors[id].role) ? 1 : 2;
    node_count_ += plan.actors[id].wanted * step_[id.value];
    end_of_[id.value] = id;
    work_[id.value] = plan.actors[id].ops;
  }
  for (const Collective& collective : plan.collectives) {
    ActorId first;
    for (std::uint32_t i = collective.members; i < collective.members_end; ++i) {
      const ActorId actor = plan.members[i].actor;
      if (actor.valid() && !first.valid()) first = actor;
      if (actor.valid() && plan.actors[actor].ops == plan.actors[first].ops) {
        end_of_[actor.value] = first;
      }
    }
  }
  all_nodes_ = node_count_;
  if (node_count_ > max_nodes || plan.aborts) return;
  Edges edges{std::vector<std::vector<Node>>(node_count_)};
  add_ops(plan, edges);
  add_programs(plan, edges);
  add_registers(plan, edges);
  add_calls(plan, edges);
  words_ = (std::size_t{all_nodes_} + 63) / 64;
  known_ = true;
  // Certain launches make ends certain, and certain ends make launches certain, so the loop repeats
  // until a pass adds no edge.
  bool any = true;
  while (any) {
    close(edges);
    any = add_streams(plan, edges);
    any = add_inboxes(plan, edges) || any;
  }
}

void HappensBefore::add_ops(const Plan& plan, Edges& edges) const {
  for (const ActorId id : ids_of(plan.actors)) {
    const Actor& actor = plan.actors[id];
    for (std::uint32_t k = 0; k < actor.wanted; ++k) {
      edges.add(node(id, k, Phase::kLaunch), node(id, k, Phase::kEnd));
      if (k > 0) {
        edges.add(node(id, k - 1, Phase::kLaunch), node(id, k, Phase::kLaunch));
        edges.add(node(id, k - 1, Phase::kEnd), node(id, k, Phase::kEnd));
      }
      for (std::uint32_t i = actor.afters; i < actor.afters_end; ++i) {
        const After& after = plan.afters[i];
        const std::uint32_t other = k + after.ahead;
        if (other >= plan.actors[after.actor].ops) continue;
        edges.add(node(after.actor, other, Phase::kEnd), node(id, k, Phase::kEnd));
      }
    }
  }
}

void HappensBefore::add_programs(const Plan& plan, Edges& edges) const {
  std::vector<std::uint32_t> k(plan.actors.size(), 0);
  for (const Thread& thread : plan.threads) {
    ActorId last;
    for (std::uint32_t i = thread.program; i < thread.program_end; ++i) {
      const ActorId actor = plan.op(thread, i);
      if (last.valid()) {
        const Phase phase = plan.actors[last].blocking ? Phase::kEnd : Phase::kLaunch;
        edges.add(node(last, k[last.value] - 1, phase),
                  node(actor, k[actor.value], Phase::kLaunch));
      }
      ++k[actor.value];
      last = actor;
    }
  }
}

void HappensBefore::add_registers(const Plan& plan, Edges& edges) const {
  for (const ActorId id : ids_of(plan.actors)) {
    for (std::uint32_t k = 0; k < plan.actors[id].wanted; ++k) {
      const Node launch = node(id, k, Phase::kLaunch);
      for_each_sender(plan, id, k, [&](ActorId sender, std::uint64_t op, Phase phase) {
        if (op >= plan.actors[sender].ops) return;
        edges.add(node(sender, static_cast<std::uint32_t>(op), phase), launch);
      });
    }
  }
}

namespace {

// Whether the send can end without its recv.
bool is_buffered(const Call& call) { return call.buffered || call.steps > 0; }

}  // namespace

// The calls of programs, grouped by communicator, kind and ranks.
class HappensBefore::Calls {
 public:
  struct Use {
    ActorId actor;
    std::uint32_t k = 0;
    bool buffered = false;
  };
  enum class Sort : std::uint8_t { kCollective, kSend, kReceive };
  /// Communicator, kind, and the rank of a collective call, or sender and receiver.
  using Key = std::tuple<std::uint32_t, Sort, std::uint32_t, std::uint32_t>;

  explicit Calls(const Plan& plan) {
    std::vector<std::uint32_t> k(plan.actors.size(), 0);
    for (const ThreadId id : ids_of(plan.threads)) {
      const Thread& thread = plan.threads[id];
      for (std::uint32_t i = thread.program; i < thread.program_end; ++i) {
        const ActorId actor = plan.op(thread, i);
        const std::uint32_t op = k[actor.value]++;
        for (const CallId call : plan.calls_of(actor)) {
          add(id, plan.calls[call], {actor, op, is_buffered(plan.calls[call])});
        }
      }
    }
  }

  /// Returns the calls of a key, in order; an empty list if several programs make calls of this
  /// key, because the order of these calls is not certain.
  const std::vector<Use>& of(const Key& key) const {
    static const std::vector<Use> kNone;
    const auto found = lists_.find(key);
    return found == lists_.end() || !found->second.certain ? kNone : found->second.uses;
  }

  bool has(const Key& key) const { return lists_.count(key) > 0; }

  template <typename F>
  void for_each_key(F f) const {
    for (const auto& [key, list] : lists_) f(key);
  }

 private:
  struct List {
    ThreadId thread;
    bool certain = true;
    std::vector<Use> uses;
  };

  void add(ThreadId thread, const Call& call, const Use& use) {
    Key key{call.communicator.value, Sort::kCollective, call.member, 0};
    if (call.kind == CallKind::kSend) {
      key = {call.communicator.value, Sort::kSend, call.member, call.peer};
    } else if (call.kind == CallKind::kReceive) {
      key = {call.communicator.value, Sort::kReceive, call.peer, call.member};
    }
    List& list = lists_[key];
    if (!list.thread.valid()) list.thread = thread;
    if (list.thread != thread) list.certain = false;
    list.uses.push_back(use);
  }

  std::map<Key, List> lists_;
};

// Adds edges for calls. If one program makes all calls of each rank on a communicator, the n-th
// call of one rank meets the n-th call of another. This does not hold if the receiving rank also
// receives from any rank. Each sequence number is a separate node: after the launches of its
// calls, before their ends.
void HappensBefore::add_calls(const Plan& plan, Edges& edges) {
  const Calls calls(plan);
  std::map<std::pair<std::uint32_t, std::size_t>, Node> rounds;
  const auto add_rounds = [&](const Calls::Key& key) {
    if (plan.communicators[CommunicatorId{std::get<0>(key)}].open) return;
    const std::vector<Calls::Use>& list = calls.of(key);
    for (std::size_t n = 0; n < list.size(); ++n) {
      const auto [at, is_new] = rounds.emplace(std::pair(std::get<0>(key), n), all_nodes_);
      if (is_new) {
        ++all_nodes_;
        edges.before.emplace_back();
      }
      edges.add(node(list[n].actor, list[n].k, Phase::kLaunch), at->second);
      edges.add(at->second, node(list[n].actor, list[n].k, Phase::kEnd));
    }
  };
  const auto add_messages = [&](const Calls::Key& key) {
    const auto& [communicator, sort, from, to] = key;
    if (calls.has({communicator, Calls::Sort::kReceive, kAnyPeer, to})) return;
    const std::vector<Calls::Use>& sends = calls.of(key);
    const std::vector<Calls::Use>& receives =
        calls.of({communicator, Calls::Sort::kReceive, from, to});
    for (std::size_t n = 0; n < std::min(sends.size(), receives.size()); ++n) {
      const Calls::Use& send = sends[n];
      const Calls::Use& receive = receives[n];
      edges.add(node(send.actor, send.k, Phase::kLaunch),
                node(receive.actor, receive.k, Phase::kEnd));
      if (send.buffered) continue;
      edges.add(node(receive.actor, receive.k, Phase::kLaunch),
                node(send.actor, send.k, Phase::kEnd));
    }
  };
  calls.for_each_key([&](const Calls::Key& key) {
    if (std::get<1>(key) == Calls::Sort::kCollective) add_rounds(key);
    if (std::get<1>(key) == Calls::Sort::kSend) add_messages(key);
  });
}

// Computes the transitive closure.
void HappensBefore::close(const Edges& edges) {
  std::vector<std::uint32_t> left(all_nodes_, 0);
  std::vector<std::vector<Node>> after(all_nodes_);
  for (Node node = 0; node < all_nodes_; ++node) {
    left[node] = static_cast<std::uint32_t>(edges.before[node].size());
    for (const Node before : edges.before[node]) after[before].push_back(node);
  }
  std::vector<Node> queue;
  for (Node node = 0; node < all_nodes_; ++node) {
    if (left[node] == 0) queue.push_back(node);
  }
  rows_.assign(std::size_t{all_nodes_} * words_, 0);
  never_.assign(all_nodes_, 1);
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const Node node = queue[i];
    never_[node] = 0;
    std::uint64_t* row = &rows_[std::size_t{node} * words_];
    for (const Node before : edges.before[node]) {
      if ((row[before / 64] >> (before % 64) & 1) != 0) continue;
      const std::uint64_t* other = &rows_[std::size_t{before} * words_];
      for (std::size_t word = 0; word < words_; ++word) row[word] |= other[word];
      row[before / 64] |= std::uint64_t{1} << (before % 64);
    }
    for (const Node next : after[node]) {
      if (--left[next] == 0) queue.push_back(next);
    }
  }
}

// Adds edges for streams, which are first in, first out: ops end in launch order if that order is
// certain. Returns true if an edge was added.
bool HappensBefore::add_streams(const Plan& plan, Edges& edges) const {
  std::vector<std::vector<std::pair<Node, Node>>> ops(plan.streams.size());
  for (const ActorId id : ids_of(plan.actors)) {
    const Actor& actor = plan.actors[id];
    if (!actor.stream.valid()) continue;
    for (std::uint32_t k = 0; k < actor.ops; ++k) {
      ops[actor.stream.value].emplace_back(node(id, k, Phase::kLaunch), node(id, k, Phase::kEnd));
    }
  }
  bool any = false;
  for (const std::vector<std::pair<Node, Node>>& stream : ops) {
    for (const auto& [launch, end] : stream) {
      for (const auto& [other_launch, other_end] : stream) {
        if (!before(other_launch, launch) || before(other_end, end) || other_end == end) continue;
        if (never_[end] != 0) continue;
        edges.add(other_end, end);
        any = true;
      }
    }
  }
  return any;
}

// Adds edges for inboxes, which are first in, first out. An op is launched first if all its
// messages arrive before a message that another op of the thread needs. Returns true if an edge was
// added.
bool HappensBefore::add_inboxes(const Plan& plan, Edges& edges) const {
  IdVector<ThreadId, std::vector<ActorId>> takers(plan.threads.size());
  for (const ActorId id : ids_of(plan.actors)) {
    const ThreadId thread = plan.actors[id].thread;
    if (plan.threads[thread].order == ThreadOrder::kArrival) takers[thread].push_back(id);
  }
  // Whether an output of the actor is reused in place. The acknowledgement of such a slot comes
  // later than the end of its reader, so add_before() skips the actor.
  IdVector<ActorId, std::uint8_t> lends(plan.actors.size(), 0);
  for (const Edge& edge : plan.edges) {
    if (edge.in_place.valid()) lends[plan.registers[edge.source].producer] = 1;
  }
  bool any = false;
  const auto add_before = [&](ActorId other, std::uint32_t other_k, ActorId id) {
    if (lends[id] != 0) return;
    const Node launch = node(other, other_k, Phase::kLaunch);
    for (std::uint32_t k = plan.actors[id].ops; k > 0; --k) {
      const Node first = node(id, k - 1, Phase::kLaunch);
      if (before(first, launch)) return;
      if (before(launch, first) || !reads_first(plan, id, k - 1, other, other_k)) continue;
      edges.add(first, launch);
      any = true;
      return;
    }
  };
  for (const std::vector<ActorId>& actors : takers) {
    for (const ActorId other : actors) {
      for (std::uint32_t k = 0; k < plan.actors[other].ops; ++k) {
        if (never_[node(other, k, Phase::kLaunch)] != 0) continue;
        for (const ActorId id : actors) {
          if (id != other) add_before(other, k, id);
        }
      }
    }
  }
  return any;
}

// Whether all messages for ops up to `k` of `actor` precede a message that op `other_k` of `other`
// needs.
bool HappensBefore::reads_first(const Plan& plan, ActorId actor, std::uint32_t k, ActorId other,
                                std::uint32_t other_k) const {
  std::vector<Node> needed;
  for_each_sender(plan, other, other_k, [&](ActorId sender, std::uint64_t op, Phase phase) {
    if (op >= plan.actors[sender].ops) return;
    needed.push_back(node(sender, static_cast<std::uint32_t>(op), phase));
  });
  bool all = !needed.empty();
  for (std::uint32_t i = 0; i <= k && all; ++i) {
    for_each_sender(plan, actor, i, [&](ActorId sender, std::uint64_t op, Phase phase) {
      if (!all) return;
      if (op >= plan.actors[sender].ops) {
        all = false;
        return;
      }
      const Node own = node(sender, static_cast<std::uint32_t>(op), phase);
      all = std::any_of(needed.begin(), needed.end(), [&](Node of) { return before(own, of); });
    });
  }
  return all;
}

}  // namespace pipesim::sim
