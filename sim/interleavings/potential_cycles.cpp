#include "sim/interleavings/potential_cycles.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace pipesim::sim {
namespace {

bool limits_starts(const Device& device) {
  return device.hardware_queues > 0 || device.ordered() || device.may_lack_slots() ||
         device.launch_queue > 0;
}

bool waits_for_devices(const Communicator& communicator) {
  return communicator.at_first_use && communicator.waits_for_device;
}

bool is_plain(const Plan& plan, const Actor& actor) {
  return actor.role == Role::kOp && !actor.blocking && !actor.input.waits &&
         !actor.waits_for_streams && plan.threads[actor.thread].order == ThreadOrder::kArrival;
}

// Whether no member is missing and all members have the same number of ops.
bool is_whole(const Plan& plan, const Collective& collective) {
  const auto begin = plan.members.begin() + collective.members;
  const auto end = plan.members.begin() + collective.members_end;
  return std::all_of(begin, end, [&](const Member& member) {
    return member.actor.valid() && begin->actor.valid() &&
           plan.actors[member.actor].ops == plan.actors[begin->actor].ops;
  });
}

bool has_full_queues(const Plan& plan) {
  IdVector<StreamId, std::uint64_t> ops(plan.streams.size(), 0);
  for (const Actor& actor : plan.actors) ops[actor.stream] += actor.ops;
  const auto ids = ids_of(plan.streams);
  return std::any_of(ids.begin(), ids.end(),
                     [&](StreamId id) { return ops[id] > plan.streams[id].launch_queue; });
}

// Whether the search models all kinds of waits of the plan.
bool knows_waits(const Plan& plan) {
  if (plan.faulty || !plan.locks.empty() || !plan.calls.empty() || !plan.signals.empty() ||
      !plan.meetings.empty()) {
    return false;
  }
  const auto none = [](const auto& items, auto is) {
    return std::none_of(items.begin(), items.end(), is);
  };
  return none(plan.devices, limits_starts) && none(plan.communicators, waits_for_devices) &&
         none(plan.edges, [](const Edge& edge) { return edge.in_place.valid(); }) &&
         none(plan.actors, [&](const Actor& actor) { return !is_plain(plan, actor); }) &&
         none(plan.collectives, [&](const Collective& of) { return !is_whole(plan, of); }) &&
         !has_full_queues(plan);
}

constexpr std::uint32_t kWays = 5;

// A way in which an op can wait in a quiescent state.
enum class Way : std::uint8_t {
  kNext,      // the next op of its actor, not launched
  kAbsent,    // like kNext; its rank has not arrived at the init of its communicator
  kCreating,  // its thread is blocked in the init of its communicator
  kBehind,    // queued behind another op in its stream
  kMeeting,   // started, waiting for its peers
};

class Search {
 public:
  using Node = HappensBefore::Node;

  Search(const Plan& plan, const HappensBefore& happens_before, std::uint64_t max_steps)
      : plan_(plan), happens_before_(happens_before), left_(max_steps) {
    lay_out();
  }

  PotentialCycles run();

 private:
  struct Op {
    ActorId actor;
    std::uint32_t k = 0;
  };
  // A possible wait of an op, and its implications.
  struct Wait {
    Op op;
    Way way = Way::kNext;
    std::vector<Node> happened;  // nodes that have happened
    std::vector<Node> missing;   // nodes that have not happened
    bool entered = false;        // whether everything that the launch of `op` needs has happened
    std::vector<std::uint32_t> next;
  };

  void lay_out();
  void add(Op op, Way way);
  std::uint32_t index(Op op, Way way) const {
    return (first_[op.actor.value] + op.k) * kWays + static_cast<std::uint32_t>(way);
  }
  CommunicatorId communicator_of(ActorId collective) const {
    return plan_.collectives[plan_.actors[collective].collective].communicator;
  }
  void add_edges(Wait& wait);
  void add_edge(Wait& wait, Op op, Way way);
  void add_not_launched(Wait& wait, Op op);
  void add_absent_ranks(Wait& wait);
  void add_heads(Wait& wait);
  void add_missing_messages(Wait& wait);
  void add_peers(Wait& wait);
  bool fits(const Wait& a, const Wait& b) const { return half_fits(a, b) && half_fits(b, a); }
  bool half_fits(const Wait& a, const Wait& b) const;
  bool fits_path(std::uint32_t node) const;
  class Components;
  void find_components();
  bool cycle_from(std::uint32_t start);

  const Plan& plan_;
  const HappensBefore& happens_before_;
  std::uint64_t left_;
  std::vector<std::uint32_t> first_;  // per actor: the number of its op 0
  std::vector<Wait> waits_;           // one per op and way; some are impossible
  std::vector<std::uint8_t> possible_;
  IdVector<StreamId, std::vector<Op>> meetings_;  // ops of collectives, per stream
  IdVector<ThreadId, std::vector<Op>> inits_;     // per thread: ops that can run an init
  std::vector<std::uint32_t> component_;
  std::vector<std::uint8_t> in_cycle_;  // per node: whether its component has a cycle
  std::vector<std::uint32_t> path_;
  std::vector<std::uint8_t> on_path_;
};

void Search::lay_out() {
  meetings_ = IdVector<StreamId, std::vector<Op>>(plan_.streams.size());
  inits_ = IdVector<ThreadId, std::vector<Op>>(plan_.threads.size());
  std::uint32_t ops = 0;
  for (const ActorId id : ids_of(plan_.actors)) {
    const Actor& actor = plan_.actors[id];
    first_.push_back(ops);
    ops += actor.ops;
    if (!actor.collective.valid()) continue;
    for (std::uint32_t k = 0; k < actor.ops; ++k) meetings_[actor.stream].push_back({id, k});
    const Collective& collective = plan_.collectives[actor.collective];
    if (actor.ops > 0 && plan_.communicators[collective.communicator].at_first_use) {
      inits_[actor.thread].push_back({id, 0});
    }
  }
  waits_.resize(std::size_t{ops} * kWays);
  possible_.assign(waits_.size(), 0);
  for (const ActorId id : ids_of(plan_.actors)) {
    const Actor& actor = plan_.actors[id];
    for (std::uint32_t k = 0; k < actor.ops; ++k) {
      add({id, k}, Way::kNext);
      add({id, k}, Way::kBehind);
      if (actor.collective.valid()) add({id, k}, Way::kMeeting);
    }
  }
  for (const std::vector<Op>& inits : inits_) {
    for (const Op& op : inits) {
      add(op, Way::kCreating);
      add(op, Way::kAbsent);
    }
  }
  for (std::uint32_t i = 0; i < waits_.size(); ++i) {
    if (possible_[i] != 0) add_edges(waits_[i]);
  }
}

void Search::add(Op op, Way way) {
  const Node launch = happens_before_.node(op.actor, op.k, Phase::kLaunch);
  const Node end = happens_before_.node(op.actor, op.k, Phase::kEnd);
  Wait& wait = waits_[index(op, way)];
  wait.op = op;
  wait.way = way;
  possible_[index(op, way)] = 1;
  if (way == Way::kNext || way == Way::kAbsent || way == Way::kCreating) {
    wait.missing.push_back(launch);
    if (op.k > 0) {
      wait.happened.push_back(happens_before_.node(op.actor, op.k - 1, Phase::kLaunch));
    }
    wait.entered = way == Way::kCreating;
    return;
  }
  wait.happened.push_back(launch);
  wait.missing.push_back(end);
  if (way != Way::kMeeting) return;
  // All ops certainly launched earlier on the stream are done.
  const StreamId stream = plan_.actors[op.actor].stream;
  for (const ActorId id : ids_of(plan_.actors)) {
    if (plan_.actors[id].stream != stream) continue;
    for (std::uint32_t k = plan_.actors[id].ops; k > 0; --k) {
      if (!happens_before_.before(happens_before_.node(id, k - 1, Phase::kLaunch), launch))
        continue;
      wait.happened.push_back(happens_before_.node(id, k - 1, Phase::kEnd));
      break;
    }
  }
}

// ---------------------------------------------------------------------------------------------
// Possible waits between ops

void Search::add_edge(Wait& wait, Op op, Way way) {
  const std::uint32_t to = index(op, way);
  if (possible_[to] != 0 && fits(wait, waits_[to])) wait.next.push_back(to);
}

// Adds edges to the ops of an actor that can be its next op, up to `op`. The edges from those ops
// cover the waits of the actor's thread.
void Search::add_not_launched(Wait& wait, Op op) {
  for (std::uint32_t k = 0; k <= op.k; ++k) add_edge(wait, {op.actor, k}, Way::kNext);
}

void Search::add_edges(Wait& wait) {
  const Actor& actor = plan_.actors[wait.op.actor];
  switch (wait.way) {
    case Way::kNext:
      for (const Op& init : inits_[actor.thread]) {
        add_edge(wait, init, Way::kCreating);
      }
      return add_missing_messages(wait);
    case Way::kAbsent:
      for (const Op& init : inits_[actor.thread]) {
        if (communicator_of(init.actor) == communicator_of(wait.op.actor)) continue;
        add_edge(wait, init, Way::kCreating);
      }
      return add_missing_messages(wait);
    case Way::kCreating:
      return add_absent_ranks(wait);
    case Way::kBehind:
      return add_heads(wait);
    case Way::kMeeting:
      return add_peers(wait);
  }
}

// Adds edges to ranks that have not arrived. No thread of such a rank has arrived, so an edge to
// the first user of the rank is enough.
void Search::add_absent_ranks(Wait& wait) {
  const RankId rank = plan_.actors[wait.op.actor].rank;
  const Communicator& communicator = plan_.communicators[communicator_of(wait.op.actor)];
  RankId last = rank;
  for (std::uint32_t i = communicator.users; i < communicator.users_end; ++i) {
    const ActorId user = plan_.communicator_users[i];
    const Actor& actor = plan_.actors[user];
    if (actor.rank == rank || actor.rank == last || actor.ops == 0) continue;
    last = actor.rank;
    add_edge(wait, {user, 0}, Way::kAbsent);
  }
}

void Search::add_heads(Wait& wait) {
  const Op& op = wait.op;
  const Node launch = happens_before_.node(op.actor, op.k, Phase::kLaunch);
  for (const Op& head : meetings_[plan_.actors[op.actor].stream]) {
    if (head.actor == op.actor && head.k >= op.k) continue;
    const Node of_head = happens_before_.node(head.actor, head.k, Phase::kLaunch);
    if (!happens_before_.before(launch, of_head)) add_edge(wait, head, Way::kMeeting);
  }
}

void Search::add_missing_messages(Wait& wait) {
  for_each_sender(plan_, wait.op.actor, wait.op.k,
                  [&](ActorId sender, std::uint64_t op, Phase phase) {
                    if (op >= plan_.actors[sender].ops) return;
                    const Op of{sender, static_cast<std::uint32_t>(op)};
                    add_not_launched(wait, of);
                    if (phase == Phase::kLaunch) return;
                    add_edge(wait, of, Way::kBehind);
                    add_edge(wait, of, Way::kMeeting);
                  });
}

void Search::add_peers(Wait& wait) {
  const Collective& collective = plan_.collectives[plan_.actors[wait.op.actor].collective];
  for (std::uint32_t i = collective.members; i < collective.members_end; ++i) {
    const ActorId member = plan_.members[i].actor;
    if (member == wait.op.actor) continue;
    add_not_launched(wait, {member, wait.op.k});
    add_edge(wait, {member, wait.op.k}, Way::kBehind);
  }
}

// Whether wait `a` is compatible with `b`. False if a node that has happened in `a` needs a node
// missing in `b`. Also false if a stream would have two heads, or a thread would be blocked in two
// ops.
bool Search::half_fits(const Wait& a, const Wait& b) const {
  for (const Node missing : b.missing) {
    for (const Node happened : a.happened) {
      if (happened == missing || happens_before_.before(missing, happened)) return false;
    }
    const Node launch = happens_before_.node(a.op.actor, a.op.k, Phase::kLaunch);
    if (a.entered && happens_before_.before(missing, launch)) return false;
  }
  const Actor& actor = plan_.actors[a.op.actor];
  const Actor& other = plan_.actors[b.op.actor];
  const bool same_op = a.op.actor == b.op.actor && a.op.k == b.op.k;
  if (a.way == Way::kMeeting && b.way == Way::kMeeting && actor.stream == other.stream) {
    return same_op;
  }
  if (a.way == Way::kCreating && b.way == Way::kCreating && actor.thread == other.thread) {
    return same_op;
  }
  return true;
}

// ---------------------------------------------------------------------------------------------
// Cycles

// Strongly connected components by R. Tarjan's algorithm ("Depth-first search and linear graph
// algorithms", 1972), with an explicit stack, because a chain of waits can be as long as the plan.
class Search::Components {
 public:
  explicit Components(Search& search)
      : search_(search), number_(search.waits_.size(), kNone), low_(search.waits_.size(), 0) {}

  void visit(std::uint32_t root) {
    if (number_[root] != kNone) return;
    enter(root);
    while (!calls_.empty()) {
      const std::uint32_t node = calls_.back().node;
      const std::vector<std::uint32_t>& next = search_.waits_[node].next;
      if (calls_.back().edge == next.size()) {
        leave(node);
        continue;
      }
      const std::uint32_t to = next[calls_.back().edge++];
      if (number_[to] == kNone) {
        enter(to);
      } else if (search_.component_[to] == kNone) {
        low_[node] = std::min(low_[node], number_[to]);
      }
    }
  }

  static constexpr std::uint32_t kNone = 0xffffffff;

 private:
  struct Call {
    std::uint32_t node = 0;
    std::size_t edge = 0;
  };

  void enter(std::uint32_t node) {
    number_[node] = low_[node] = numbers_++;
    stack_.push_back(node);
    calls_.push_back({node, 0});
  }

  void leave(std::uint32_t node) {
    calls_.pop_back();
    if (!calls_.empty()) {
      std::uint32_t& low = low_[calls_.back().node];
      low = std::min(low, low_[node]);
    }
    if (low_[node] != number_[node]) return;
    const std::vector<std::uint32_t>& next = search_.waits_[node].next;
    const bool itself = std::find(next.begin(), next.end(), node) != next.end();
    const bool has_cycle = itself || stack_.back() != node;
    std::uint32_t member = kNone;
    do {
      member = stack_.back();
      stack_.pop_back();
      search_.component_[member] = components_;
      search_.in_cycle_[member] = has_cycle ? 1 : 0;
    } while (member != node);
    ++components_;
  }

  Search& search_;
  std::vector<std::uint32_t> number_;
  std::vector<std::uint32_t> low_;
  std::vector<std::uint32_t> stack_;
  std::vector<Call> calls_;
  std::uint32_t numbers_ = 0;
  std::uint32_t components_ = 0;
};

void Search::find_components() {
  component_.assign(waits_.size(), Components::kNone);
  in_cycle_.assign(waits_.size(), 0);
  Components components(*this);
  for (std::uint32_t root = 0; root < waits_.size(); ++root) {
    if (possible_[root] != 0) components.visit(root);
  }
}

bool Search::fits_path(std::uint32_t node) const {
  return std::all_of(path_.begin(), path_.end(),
                     [&](std::uint32_t other) { return fits(waits_[node], waits_[other]); });
}

// Whether compatible waits form a cycle in which `start` has the lowest index. Also returns true if
// the budget is used up.
bool Search::cycle_from(std::uint32_t start) {
  std::vector<std::uint32_t> edges{0};
  path_.assign(1, start);
  on_path_.assign(waits_.size(), 0);
  on_path_[start] = 1;
  while (!path_.empty()) {
    if (left_ == 0) return true;
    --left_;
    const std::uint32_t node = path_.back();
    if (edges.back() == waits_[node].next.size()) {
      on_path_[node] = 0;
      path_.pop_back();
      edges.pop_back();
      continue;
    }
    const std::uint32_t to = waits_[node].next[edges.back()++];
    if (to == start) return true;
    if (to < start || component_[to] != component_[start] || on_path_[to] != 0) continue;
    if (!fits_path(to)) continue;
    path_.push_back(to);
    edges.push_back(0);
    on_path_[to] = 1;
  }
  return false;
}

PotentialCycles Search::run() {
  find_components();
  for (std::uint32_t start = 0; start < waits_.size(); ++start) {
    if (in_cycle_[start] != 0 && cycle_from(start)) return PotentialCycles::kPossible;
  }
  return PotentialCycles::kNone;
}

}  // namespace

PotentialCycles potential_cycles(const Plan& plan, const HappensBefore& happens_before,
                                 std::uint64_t max_steps) {
  if (!knows_waits(plan) || !happens_before.known()) return PotentialCycles::kUnknown;
  return Search(plan, happens_before, max_steps).run();
}

}  // namespace pipesim::sim
