// Compares features/goal/loggops.hpp with a second implementation of "Timing" in
// docs/reference/goal.md. The second implementation is as plain as possible: it keeps a list of
// attempts, takes the earliest, and puts an attempt that cannot run yet back into the list. From
// loggops.hpp it uses only the kinds of ops and the parameters.
#include "features/goal/loggops.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/twin/random.hpp"

using namespace pipesim;
using twin::Random;

namespace {

using Number = std::int64_t;
constexpr Number kNot = -1;

struct Op {
  sim::LogGopsKind kind = sim::LogGopsKind::kCalculate;
  int rank = 0;
  int peer = 0;  // -1: any
  int tag = 0;   // -1: any
  Number size = 0;
  int cpu = 0;
  int nic = 0;
  std::vector<std::pair<int, bool>> requires_ops;  // the other op, and whether its start is enough
};

struct Told {
  int dependent = 0;
  int on = 0;
  bool start = false;
};

struct Sketch {
  int ranks = 1;
  std::vector<Op> ops;     // sorted by rank
  std::vector<Told> told;  // dependencies in file order
};

struct Found {
  std::vector<Number> start, done, match;
  std::vector<Number> finish;
};

// An attempt: an op that starts, or a message that arrives.
struct Try {
  Number time = 0;
  Number turn = 0;
  int op = 0;
  bool message = false;
};

class Plain {
 public:
  Plain(const Sketch& sketch, const sim::LogGopsParameters& with) : sketch_(sketch), with_(with) {
    const std::size_t count = sketch.ops.size();
    found_.start.assign(count, kNot);
    found_.done.assign(count, kNot);
    found_.match.assign(count, kNot);
    found_.finish.assign(static_cast<std::size_t>(sketch.ranks), 0);
    taken_.assign(count, false);
  }

  Found run() {
    let_go(0);
    while (!tries_.empty()) {
      const auto first =
          std::min_element(tries_.begin(), tries_.end(), [](const Try& a, const Try& b) {
            return std::pair(a.time, a.turn) < std::pair(b.time, b.turn);
          });
      const Try now = *first;
      tries_.erase(first);
      attempt(now);
    }
    return found_;
  }

 private:
  using Unit = std::tuple<char, int, int>;  // 'c'pu, 's'ending nic, 'r'eceiving nic

  const Op& op(int i) const { return sketch_.ops[static_cast<std::size_t>(i)]; }
  static Number& at(std::vector<Number>& list, int i) { return list[static_cast<std::size_t>(i)]; }
  bool rendezvous(int send) const { return op(send).size > static_cast<Number>(with_.eager_bytes); }

  Number bytes(Number base, Number size, Number each) const {
    return std::max<Number>(0, base + (size - 1) * each);
  }

  // Returns the longer of the times that these bytes take on the cpu and on the nic, compared as
  // unsigned 64-bit numbers.
  Number longer(Number size) const {
    const auto a = static_cast<std::uint64_t>((size - 1) * with_.overhead_per_byte_ns);
    const auto b = static_cast<std::uint64_t>((size - 1) * with_.gap_per_byte_ns);
    return static_cast<Number>(std::max(a, b));
  }

  void attempt(Try now) {
    const Op& it = op(now.op);
    time_ = now.time;
    if (it.kind == sim::LogGopsKind::kReceive) return post(now.op);
    const int rank = now.message ? it.peer : it.rank;
    std::vector<Unit> needs = {{'c', rank, it.cpu}};
    if (it.kind == sim::LogGopsKind::kSend)
      needs.emplace_back(now.message ? 'r' : 's', rank, it.nic);
    Number free = 0;
    for (const Unit& unit : needs) free = std::max(free, free_[unit]);
    if (free > time_) {
      now.time = free;
      tries_.push_back(now);
      return;
    }
    if (now.message) {
      receive(now.op);
    } else if (it.kind == sim::LogGopsKind::kSend) {
      send(now.op);
    } else {
      keep_cpu(it.rank, it.cpu, time_ + it.size);
      at(found_.start, now.op) = time_;
      at(found_.done, now.op) = time_ + it.size;
    }
    let_go(now.op);
  }

  void keep_cpu(int rank, int cpu, Number until) {
    free_[{'c', rank, cpu}] = until;
    at(found_.finish, rank) = std::max(at(found_.finish, rank), until);
  }

  void send(int i) {
    const Op& it = op(i);
    const Number end = time_ + bytes(with_.overhead_ns, it.size, with_.overhead_per_byte_ns);
    keep_cpu(it.rank, it.cpu, end);
    free_[{'s', it.rank, it.nic}] = time_ + bytes(with_.gap_ns, it.size, with_.gap_per_byte_ns);
    at(found_.start, i) = time_;
    tries_.push_back({time_ + with_.overhead_ns + with_.latency_ns, turn_++, i, true});
    if (!rendezvous(i)) at(found_.done, i) = end;
  }

  void receive(int i) {
    const Op& it = op(i);
    const Number end = time_ + std::max<Number>(0, with_.overhead_ns + longer(it.size));
    keep_cpu(it.peer, it.cpu, end);
    free_[{'r', it.peer, it.nic}] = time_ + bytes(with_.gap_ns, it.size, with_.gap_per_byte_ns);
    taken_in_[i] = end;
    for (const int other : posted_) {
      if (meet(i, other)) return;
    }
    arrived_.push_back(i);
  }

  void post(int i) {
    at(found_.start, i) = time_;
    bool met = false;
    for (const int other : arrived_) {
      met = meet(other, i);
      if (met) break;
    }
    if (!met) posted_.push_back(i);
    let_go(i);
  }

  bool meet(int send, int receive) {
    const Op& from = op(send);
    const Op& to = op(receive);
    const bool fits = from.peer == to.rank && (to.peer == -1 || to.peer == from.rank) &&
                      (to.tag == -1 || from.tag == -1 || to.tag == from.tag);
    if (!fits) return false;
    arrived_.erase(std::remove(arrived_.begin(), arrived_.end(), send), arrived_.end());
    posted_.erase(std::remove(posted_.begin(), posted_.end(), receive), posted_.end());
    at(found_.match, send) = receive;
    at(found_.match, receive) = send;
    at(found_.done, receive) = std::max(time_, taken_in_[send]);
    if (rendezvous(send)) {
      at(found_.done, send) =
          std::max(time_, at(found_.start, send) +
                              bytes(with_.overhead_ns, from.size, with_.overhead_per_byte_ns));
      keep_cpu(from.rank, from.cpu, std::max(time_, free_[{'c', from.rank, from.cpu}]));
      Number& nic = free_[{'s', from.rank, from.nic}];
      nic = std::max(nic, time_);
    }
    return true;
  }

  // Gives turns to all ops without open dependencies, sorted by rank, kind, and the dependency that
  // released them.
  void let_go(int cause) {
    std::vector<int> free_ops;
    for (int i = 0; i < static_cast<int>(sketch_.ops.size()); ++i) {
      if (taken_[static_cast<std::size_t>(i)] || !is_free(i)) continue;
      taken_[static_cast<std::size_t>(i)] = true;
      free_ops.push_back(i);
    }
    std::vector<std::tuple<int, int, int, int, int>> order;
    for (const int i : free_ops) {
      order.emplace_back(op(i).rank, static_cast<int>(op(i).kind), told_by(i, cause).first,
                         told_by(i, cause).second, i);
    }
    std::sort(order.begin(), order.end());
    for (const auto& entry : order) {
      const int i = std::get<4>(entry);
      Number when = std::max(time_, ready(i));
      if (op(i).kind == sim::LogGopsKind::kReceive) {
        when = std::max(when, free_[{'c', op(i).rank, op(i).cpu}]);
      }
      tries_.push_back({when, turn_++, i, false});
    }
  }

  bool is_free(int i) {
    for (const auto& [on, start] : op(i).requires_ops) {
      if (at(start ? found_.start : found_.done, on) == kNot) return false;
    }
    return true;
  }

  Number ready(int i) {
    Number result = 0;
    for (const auto& [on, start] : op(i).requires_ops) {
      result = std::max(result, at(start ? found_.start : found_.done, on));
    }
    return result;
  }

  // Returns the cause and dependency that released `i` last. Causes come in this order: the start
  // of `cause`, the end of its matching op if `cause` is a send, its own end, then the end of the
  // recv that it met. Among equal causes, the last dependency in the file counts.
  std::pair<int, int> told_by(int i, int cause) {
    std::pair<int, int> last(-1, -1);
    for (int k = 0; k < static_cast<int>(sketch_.told.size()); ++k) {
      const auto& [dependent, on, start] = sketch_.told[static_cast<std::size_t>(k)];
      if (dependent != i) continue;
      const bool sent = op(on).kind == sim::LogGopsKind::kSend;
      const bool just = on == cause || at(found_.match, cause) == on;
      if (!just) continue;
      if (start && on != cause) continue;  // this start was an earlier release
      last = std::max(last, {start ? 0 : sent ? 1 : 2, k});
    }
    return last;
  }

  const Sketch& sketch_;
  const sim::LogGopsParameters& with_;
  Found found_;
  std::vector<bool> taken_;  // ops that have been released
  std::vector<Try> tries_;
  std::map<Unit, Number> free_;
  std::map<int, Number> taken_in_;
  std::vector<int> posted_;
  std::vector<int> arrived_;
  Number time_ = 0;
  Number turn_ = 0;
};

Sketch random_sketch(Random& random) {
  Sketch sketch;
  sketch.ranks = random.between(1, 4);
  const bool many = random.chance(40);
  const bool wildcards = random.chance(40);
  const int max_ops = random.between(1, 9);
  const int tags = random.between(1, 3);
  for (int rank = 0; rank < sketch.ranks; ++rank) {
    const int first = static_cast<int>(sketch.ops.size());
    const int count = random.below(max_ops + 1);
    for (int i = 0; i < count; ++i) {
      Op op;
      op.rank = rank;
      op.kind = random.pick(std::vector<sim::LogGopsKind>{
          sim::LogGopsKind::kSend, sim::LogGopsKind::kReceive, sim::LogGopsKind::kSend,
          sim::LogGopsKind::kReceive, sim::LogGopsKind::kCalculate});
      op.peer = random.below(sketch.ranks);
      op.tag = random.below(tags);
      op.size = random.pick(std::vector<Number>{0, 1, 2, 7, 10, 11, 30});
      if (many) op.cpu = random.below(3);
      if (many) op.nic = random.below(2);
      if (wildcards && random.chance(20)) op.tag = -1;
      if (wildcards && random.chance(30) && op.kind == sim::LogGopsKind::kReceive) op.peer = -1;
      sketch.ops.push_back(op);
    }
    for (int k = random.below(count + 3); k > 0 && count > 1; --k) {
      int dependent = first + random.below(count);
      int on = first + random.below(count);
      if (dependent < on && !random.chance(4)) std::swap(dependent, on);
      if (dependent == on) continue;
      const bool start = random.chance(25);
      sketch.told.push_back({dependent, on, start});
      sketch.ops[static_cast<std::size_t>(dependent)].requires_ops.emplace_back(on, start);
    }
  }
  return sketch;
}

sim::LogGopsProgram program_of(const Sketch& sketch) {
  sim::LogGopsProgram program;
  program.rank_count = static_cast<std::uint32_t>(sketch.ranks);
  program.rank_begin = decltype(program.rank_begin)(program.rank_count, 0);
  program.rank_end = program.rank_begin;
  for (std::uint32_t i = 0; i < sketch.ops.size(); ++i) {
    const Op& from = sketch.ops[i];
    sim::LogGopsOp op;
    op.kind = from.kind;
    op.rank = static_cast<std::uint32_t>(from.rank);
    op.peer = from.peer < 0 ? sim::kAnyPeer : static_cast<std::uint32_t>(from.peer);
    op.tag = from.tag < 0 ? sim::kAnyTag : static_cast<std::uint32_t>(from.tag);
    op.size = static_cast<std::uint64_t>(from.size);
    op.cpu = static_cast<std::uint8_t>(from.cpu);
    op.nic = static_cast<std::uint8_t>(from.nic);
    program.has_wildcards = program.has_wildcards || from.peer < 0 || from.tag < 0;
    program.many_units = program.many_units || op.cpu > 0 || op.nic > 0;
    program.ops.push_back(op);
    program.required.push_back(static_cast<std::uint32_t>(from.requires_ops.size()));
    program.dependents_begin.push_back(static_cast<std::uint32_t>(program.dependents.size()));
    for (const auto& [dependent, on, start] : sketch.told) {
      if (on != static_cast<int>(i)) continue;
      program.dependents.push_back(static_cast<std::uint32_t>(dependent) |
                                   (start ? sim::LogGopsProgram::kAtStart : 0));
    }
  }
  program.dependents_begin.push_back(static_cast<std::uint32_t>(program.dependents.size()));
  for (std::uint32_t rank = 0; rank < program.rank_count; ++rank) {
    const auto of_rank = [&](std::uint32_t below) {
      return static_cast<std::uint32_t>(
          std::count_if(sketch.ops.begin(), sketch.ops.end(),
                        [&](const Op& op) { return static_cast<std::uint32_t>(op.rank) < below; }));
    };
    program.rank_begin[sim::RankId{rank}] = of_rank(rank);
    program.rank_end[sim::RankId{rank}] = of_rank(rank + 1);
  }
  return program;
}

sim::LogGopsParameters random_parameters(Random& random) {
  const auto pick = [&](std::vector<Number> from) { return random.pick(from); };
  return {pick({0, 3, 25}), pick({0, 2, 15}), pick({0, 1, 10}),
          pick({0, 1, 6}),  pick({0, 0, 2}),  static_cast<std::uint64_t>(pick({0, 10, 100}))};
}

Number number(sim::Time time) { return time == sim::kNever ? kNot : time.ns; }

// Checks properties that the wait-for graph of every program has.
void check_waits(const Sketch& sketch, const sim::LogGopsProgram& program,
                 const sim::LogGopsOutcome& outcome) {
  const sim::WaitGraph graph = sim::wait_graph(program, outcome);
  std::set<std::uint32_t> stuck;
  for (const sim::WaitNode& node : graph.nodes) {
    if (node.kind == sim::WaitNodeKind::kOp) stuck.insert(node.actor.value);
  }
  std::set<std::uint32_t> expected;
  std::set<std::tuple<std::uint32_t, std::uint32_t, bool>> requirements;
  for (std::uint32_t i = 0; i < sketch.ops.size(); ++i) {
    if (outcome.ops[i].done == sim::kNever) expected.insert(i);
    for (const auto& [on, start] : sketch.ops[i].requires_ops) {
      const sim::LogGopsOpState& state = outcome.ops[static_cast<std::size_t>(on)];
      if ((start ? state.start : state.done) != sim::kNever) continue;
      requirements.emplace(i, static_cast<std::uint32_t>(on), start);
    }
  }
  CHECK(stuck == expected);
  std::vector<int> out(graph.nodes.size(), 0);
  std::uint32_t last = 0;
  for (const sim::WaitEdge& edge : graph.edges) {
    CHECK(edge.from >= last);
    last = edge.from;
    ++out[edge.from];
    const std::uint32_t from = graph.nodes[edge.from].actor.value;
    const sim::WaitNode& to = graph.nodes[edge.to];
    if (edge.kind != sim::WaitKind::kPeerOfMessage) {
      CHECK(requirements.count({from, to.actor.value, edge.kind == sim::WaitKind::kIRequires}) ==
            1);
      continue;
    }
    CHECK(outcome.ops[from].start != sim::kNever);
    if (to.kind != sim::WaitNodeKind::kOp) continue;
    const Op& a = sketch.ops[from];
    const Op& b = sketch.ops[to.actor.value];
    CHECK(a.kind != b.kind);
    CHECK(outcome.ops[to.actor.value].start == sim::kNever);
    CHECK((a.peer == b.rank || a.peer == -1));
    CHECK((b.peer == a.rank || b.peer == -1));
  }
  for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
    CHECK((out[node] > 0) == (graph.nodes[node].kind == sim::WaitNodeKind::kOp));
  }
}

}  // namespace

TEST_CASE("LogGOPS runs are as a second implementation has them", "[twin][loggops]") {
  int stuck = 0;
  for (std::uint64_t seed = 1; seed <= 40'000; ++seed) {
    Random random(seed);
    const Sketch sketch = random_sketch(random);
    const sim::LogGopsParameters with = random_parameters(random);
    const sim::LogGopsProgram program = program_of(sketch);
    const sim::LogGopsOutcome outcome = sim::run(program, with);
    const Found found = Plain(sketch, with).run();
    bool same = true;
    bool all_done = true;
    for (std::size_t i = 0; i < sketch.ops.size(); ++i) {
      const sim::LogGopsOpState& state = outcome.ops[i];
      const Number match = state.match == sim::kNoOp ? kNot : Number{state.match};
      same = same && number(state.start) == found.start[i] && number(state.done) == found.done[i] &&
             match == found.match[i];
      all_done = all_done && state.done != sim::kNever;
    }
    for (std::uint32_t rank = 0; rank < program.rank_count; ++rank) {
      same = same && outcome.finish[sim::RankId{rank}].ns == found.finish[rank];
    }
    INFO("seed " << seed);
    REQUIRE(same);
    REQUIRE(outcome.end == (all_done ? sim::RunEnd::kCompleted : sim::RunEnd::kStuck));
    if (all_done) continue;
    ++stuck;
    check_waits(sketch, program, outcome);
  }
  CHECK(stuck > 1000);
}
