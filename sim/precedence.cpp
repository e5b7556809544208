#include "sim/precedence.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

namespace pipesim::sim {

// Who comes right before whom.
struct Precedence::Edges {
  std::vector<std::vector<Node>> before;

  void add(Node a, Node b) {
    if (a != b) before[b].push_back(a);
  }
};

Precedence::Precedence(const Plan& plan, std::uint32_t max_nodes)
    : first_(plan.actors.size()),
      step_(plan.actors.size()),
      end_of_(plan.actors.size()),
      work_(plan.actors.size()) {
  for (const ActorId id : ids_of(plan.actors)) {
    first_[id.value] = node_count_;
    step_[id.value] = on_host(plan.actors[id].role) ? 1 : 2;
    node_count_ += plan.actors[id].acts_wanted() * step_[id.value];
    end_of_[id.value] = id;
    work_[id.value] = plan.actors[id].acts;
  }
  for (const Collective& collective : plan.collectives) {
    ActorId first;
    for (std::uint32_t i = collective.members; i < collective.members_end; ++i) {
      const ActorId actor = plan.members[i].actor;
      if (actor.valid() && !first.valid()) first = actor;
      if (actor.valid() && plan.actors[actor].acts == plan.actors[first].acts) {
        end_of_[actor.value] = first;
      }
    }
  }
  all_nodes_ = node_count_;
  if (node_count_ > max_nodes) return;
  Edges edges{std::vector<std::vector<Node>>(node_count_)};
  add_acts(plan, edges);
  add_programs(plan, edges);
  add_registers(plan, edges);
  add_calls(plan, edges);
  words_ = (std::size_t{all_nodes_} + 63) / 64;
  known_ = true;
  // What is certain about launches makes ends certain, and these launches: until nothing is new.
  do {
    close(edges);
  } while (add_streams(plan, edges));
}

Precedence::Node Precedence::node(ActorId actor, std::uint32_t k, Phase phase) const {
  if (phase == Phase::kLaunch) return first_[actor.value] + k * step_[actor.value];
  // What is wanted beyond the work of an actor is of no collective any more.
  const std::uint32_t by = k < work_[actor.value] ? end_of_[actor.value].value : actor.value;
  return first_[by] + k * step_[by] + (step_[by] - 1u);
}

void Precedence::add_acts(const Plan& plan, Edges& edges) const {
  for (const ActorId id : ids_of(plan.actors)) {
    const Actor& actor = plan.actors[id];
    for (std::uint32_t k = 0; k < actor.acts_wanted(); ++k) {
      edges.add(node(id, k, Phase::kLaunch), node(id, k, Phase::kEnd));
      if (k > 0) {
        edges.add(node(id, k - 1, Phase::kLaunch), node(id, k, Phase::kLaunch));
        edges.add(node(id, k - 1, Phase::kEnd), node(id, k, Phase::kEnd));
      }
      for (std::uint32_t i = actor.afters; i < actor.afters_end; ++i) {
        const After& after = plan.afters[i];
        const std::uint32_t other = k + after.ahead;
        if (other >= plan.actors[after.actor].acts) continue;
        edges.add(node(after.actor, other, Phase::kEnd), node(id, k, Phase::kEnd));
      }
    }
  }
}

void Precedence::add_programs(const Plan& plan, Edges& edges) const {
  std::vector<std::uint32_t> k(plan.actors.size(), 0);
  for (const Thread& thread : plan.threads) {
    ActorId last;
    for (std::uint32_t i = thread.program; i < thread.program_end; ++i) {
      const ActorId actor = plan.act(thread, i);
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

void Precedence::add_registers(const Plan& plan, Edges& edges) const {
  for (const EdgeId id : ids_of(plan.edges)) {
    const Edge& edge = plan.edges[id];
    const Register& reg = plan.registers[edge.source];
    const std::uint32_t produced = plan.actors[reg.producer].acts;
    const std::uint32_t wanted = plan.actors[reg.producer].acts_wanted();
    const std::uint32_t consumed = plan.actors[edge.consumer].acts;
    const Phase data = edge.data_at_launch ? Phase::kLaunch : Phase::kEnd;
    for (std::uint32_t slot = 0; slot * edge.acts_per_slot < consumed; ++slot) {
      const std::uint32_t filled = (slot + 1) * reg.acts_per_slot - 1;
      if (filled >= produced) break;
      edges.add(node(reg.producer, filled, data),
                node(edge.consumer, slot * edge.acts_per_slot, Phase::kLaunch));
    }
    if (edge.in_place.valid()) continue;  // acknowledged later, by others
    const Phase ack = edge.ack_at_launch ? Phase::kLaunch : Phase::kEnd;
    for (std::uint32_t group = 1; group * reg.acts_per_slot < wanted; ++group) {
      const std::uint32_t act = group * reg.acts_per_slot;
      const bool drains = reg.drain_every > 0 && act % reg.drain_every == 0;
      if (!drains && group < reg.slots) continue;
      const std::uint32_t slot = drains ? group - 1 : group - reg.slots;
      const std::uint32_t freed = (slot + 1) * edge.acts_per_slot - 1;
      if (freed >= consumed) break;
      edges.add(node(edge.consumer, freed, ack), node(reg.producer, act, Phase::kLaunch));
    }
  }
}

// Where each rank's calls on a communicator are of one program, the n-th of one meets the n-th of
// the other. A meeting is a node of its own: after the launches that it needs, before the ends.
void Precedence::add_calls(const Plan& plan, Edges& edges) {
  struct Use {
    ActorId actor;
    std::uint32_t k;
    CallId call;
  };
  // By communicator, sort of call (0: collective, 1: send, 2: receive), from and to.
  using Key =
      std::pair<std::pair<std::uint32_t, std::uint32_t>, std::pair<std::uint32_t, std::uint32_t>>;
  std::map<Key, std::vector<Use>> uses;
  std::map<Key, ThreadId> threads;
  std::map<Key, bool> certain;
  std::vector<std::uint32_t> k(plan.actors.size(), 0);
  for (const ThreadId id : ids_of(plan.threads)) {
    const Thread& thread = plan.threads[id];
    for (std::uint32_t i = thread.program; i < thread.program_end; ++i) {
      const ActorId actor = plan.act(thread, i);
      const std::uint32_t act = k[actor.value]++;
      for (const CallId call_id : plan.calls_of(actor)) {
        const Call& call = plan.calls[call_id];
        const bool collective = call.kind == CallKind::kCollective;
        const std::uint32_t sort = collective ? 0 : call.kind == CallKind::kSend ? 1 : 2;
        const std::uint32_t from = call.kind == CallKind::kReceive ? call.peer : call.member;
        const std::uint32_t to = call.kind == CallKind::kReceive ? call.member : call.peer;
        const Key key{{call.communicator.value, sort},
                      {collective ? call.member : from, collective ? 0 : to}};
        const auto [thread_of, is_new] = threads.emplace(key, id);
        certain[key] = is_new || (certain[key] && thread_of->second == id);
        uses[key].push_back({actor, act, call_id});
      }
    }
  }
  const auto meeting = [&]() {
    edges.before.emplace_back();
    return all_nodes_++;
  };
  std::map<std::pair<std::uint32_t, std::size_t>, Node> rounds;
  for (const auto& [key, list] : uses) {
    if (!certain[key] || key.first.second == 2) continue;
    if (key.first.second == 0) {
      for (std::size_t n = 0; n < list.size(); ++n) {
        const auto [at, is_new] = rounds.emplace(std::pair(key.first.first, n), 0);
        if (is_new) at->second = meeting();
        edges.add(node(list[n].actor, list[n].k, Phase::kLaunch), at->second);
        edges.add(at->second, node(list[n].actor, list[n].k, Phase::kEnd));
      }
      continue;
    }
    const Key other{{key.first.first, 2}, key.second};
    const auto receives = uses.find(other);
    if (receives == uses.end() || !certain[other]) continue;
    for (std::size_t n = 0; n < std::min(list.size(), receives->second.size()); ++n) {
      const Use& send = list[n];
      const Use& receive = receives->second[n];
      edges.add(node(send.actor, send.k, Phase::kLaunch),
                node(receive.actor, receive.k, Phase::kEnd));
      if (plan.calls[send.call].eager) continue;
      edges.add(node(receive.actor, receive.k, Phase::kLaunch),
                node(send.actor, send.k, Phase::kEnd));
    }
  }
}

// All that comes before, from what comes right before.
void Precedence::close(const Edges& edges) {
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

// A stream is first in, first out: launches of a certain order end in it. Whether that was news.
bool Precedence::add_streams(const Plan& plan, Edges& edges) const {
  std::vector<std::vector<std::pair<Node, Node>>> acts(plan.streams.size());
  for (const ActorId id : ids_of(plan.actors)) {
    const Actor& actor = plan.actors[id];
    if (!actor.stream.valid()) continue;
    for (std::uint32_t k = 0; k < actor.acts; ++k) {
      acts[actor.stream.value].emplace_back(node(id, k, Phase::kLaunch), node(id, k, Phase::kEnd));
    }
  }
  bool any = false;
  for (const std::vector<std::pair<Node, Node>>& stream : acts) {
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

}  // namespace pipesim::sim
