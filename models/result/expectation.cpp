#include "models/result/expectation.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>

#include "models/result/idle.hpp"

namespace pipesim::models {
namespace {

std::int64_t bytes_of(const ExpectedMemory& expected, const RankMemory& memory) {
  return expected.reserved ? memory.reserved : memory.peak;
}

class Check {
 public:
  Check(const Expectation& expectation, const TaskGraph& graph, const Simulation& run)
      : expected_(expectation), graph_(graph), run_(run), found_(run.explanation) {}

  std::vector<Unmet> run() {
    check_names();
    check_numbers();
    check_cycle();
    if (expected_.roots) check_roots();
    if (!expected_.idle.empty()) check_idle();
    if (!expected_.memory.empty()) check_memory();
    for (const std::vector<ExpectedOp>& ops : expected_.order) check_order(ops);
    return std::move(result_);
  }

 private:
  Unmet& add(Aspect aspect, Place place) {
    result_.emplace_back();
    result_.back().aspect = aspect;
    result_.back().place = place;
    return result_.back();
  }

  void check_names() {
    if (expected_.verdict && expected_.verdict->value != found_.verdict) {
      Unmet& item = add(Aspect::kVerdict, expected_.verdict->place);
      item.wanted = verdict_name(expected_.verdict->value);
      item.found = verdict_name(found_.verdict);
    }
    if (expected_.cause && expected_.cause->value != found_.cause) {
      Unmet& item = add(Aspect::kCause, expected_.cause->place);
      item.wanted = cause_name(expected_.cause->value);
      item.found = cause_name(found_.cause);
    }
  }

  void check_number(Aspect aspect, Place place, const Bounds& bounds, std::int64_t number) {
    if (bounds.contain(number)) return;
    Unmet& item = add(aspect, place);
    item.bounds = bounds;
    item.number = number;
  }

  void check_numbers() {
    if (const auto& time = expected_.time_ns) {
      check_number(Aspect::kTime, time->place, time->value, found_.time_ns);
    }
    if (const auto& length = expected_.cycle_length) {
      check_number(Aspect::kCycleLength, length->place, Bounds::exactly(length->value),
                   static_cast<std::int64_t>(found_.cycle.size()));
    }
  }

  void check_cycle() {
    for (const Expected<std::string>& op : expected_.cycle_through) {
      const bool there =
          std::any_of(found_.cycle.begin(), found_.cycle.end(),
                      [&](const Wait& wait) { return wait.from.op.name == op.value; });
      if (!there) add(Aspect::kCycleThrough, op.place).wanted = op.value;
    }
  }

  // Compares the roots. Missing input from outside counts for the rank that waits for the input.
  void check_roots() {
    std::set<std::uint32_t> ranks;
    for (const Root& root : found_.roots) {
      const bool outside = root.party.kind == sim::WaitNodeKind::kOutside;
      ranks.insert(outside ? root.first.from.rank : root.party.rank);
    }
    const RankSet& wanted = expected_.roots->value;
    if (std::equal(ranks.begin(), ranks.end(), wanted.begin(), wanted.end())) return;
    Unmet& item = add(Aspect::kRoots, expected_.roots->place);
    item.ranks.assign(wanted.begin(), wanted.end());
    item.found_ranks.assign(ranks.begin(), ranks.end());
  }

  void check_idle() {
    const std::vector<std::int64_t> busy = busy_ns(graph_, run_);
    for (const ExpectedIdle& idle : expected_.idle) {
      if (idle.together) {
        const std::int64_t all =
            std::accumulate(idle.on.begin(), idle.on.end(), std::int64_t{0},
                            [&](std::int64_t sum, std::uint32_t rank) { return sum + busy[rank]; });
        const std::int64_t share =
            idle_share(found_.time_ns, all, static_cast<std::int64_t>(idle.on.size()));
        add_idle(idle, share, {idle.on.begin(), idle.on.end()});
        continue;
      }
      // Ranks with the same idle share are reported together.
      std::map<std::int64_t, std::vector<std::uint32_t>> ranks;
      for (const std::uint32_t rank : idle.on) {
        ranks[idle_share(found_.time_ns, busy[rank])].push_back(rank);
      }
      for (const auto& [share, alike] : ranks) add_idle(idle, share, alike);
    }
  }

  void add_idle(const ExpectedIdle& idle, std::int64_t share,
                const std::vector<std::uint32_t>& ranks) {
    if (idle.share.contain(share)) return;
    check_number(Aspect::kIdle, idle.place, idle.share, share);
    result_.back().ranks = ranks;
  }

  void check_memory() {
    const auto report = memory_report(graph_, run_.lowered, run_.outcome);
    for (const ExpectedMemory& memory : expected_.memory) {
      const std::optional<std::int64_t> most = memory_of(memory, report);
      if (most && memory.bytes.contain(*most)) continue;
      Unmet& item = add(Aspect::kMemory, memory.place);
      item.bounds = memory.bytes;
      item.reserved = memory.reserved;
      item.sized = most.has_value();
      item.number = most.value_or(0);
      for (const std::uint32_t rank : memory.on) {
        if (most && bytes_of(memory, (*report)[rank]) == *most) item.found_ranks.push_back(rank);
      }
    }
  }

  const std::map<std::pair<std::uint32_t, std::string>, sim::ActorId>& actors() {
    if (!actors_.empty()) return actors_;
    const sim::Plan& plan = run_.lowered.plan;
    for (const sim::ActorId id : ids_of(plan.actors)) {
      actors_.emplace(std::pair(plan.actors[id].rank.value,
                                graph_.actors[run_.lowered.actor_template[id]].name),
                      id);
    }
    return actors_;
  }

  OrderedOp find(std::uint32_t rank, const ExpectedOp& op) {
    OrderedOp result{rank, op.name, op.number, false, sim::kNever};
    // Tries the full name, then the name without its trailing number.
    const std::size_t digits = op.name.find_last_not_of("0123456789") + 1;
    for (const std::string& name : {op.name, op.name.substr(0, digits)}) {
      const auto found = actors().find({rank, name});
      if (found == actors().end()) continue;
      const sim::ActorId id = found->second;
      const std::uint32_t ops = run_.lowered.plan.actors[id].ops;
      const ActorTemplate& from = graph_.actors[run_.lowered.actor_template[id]];
      const std::uint32_t k = find_op(from, ops, {op.name, op.number});
      if (k >= ops) continue;
      result.exists = true;
      const sim::Outcome& outcome = run_.outcome;
      result.start = outcome.op_times.of(id, k).start;
      break;
    }
    return result;
  }

  // Checks that the ops start in order; reports the first violation. `rank`: the rank of the first
  // op.
  bool in_order(const std::vector<ExpectedOp>& ops, std::uint32_t rank) {
    std::optional<OrderedOp> last;
    for (const ExpectedOp& op : ops) {
      rank = op.rank.value_or(rank);
      OrderedOp next = find(rank, op);
      const bool good = next.start != sim::kNever && (!last || last->start <= next.start);
      if (!good) {
        Unmet& item = add(Aspect::kOrder, op.place);
        item.before = last;
        item.after = std::move(next);
        return false;
      }
      last = std::move(next);
    }
    return true;
  }

  void check_order(const std::vector<ExpectedOp>& ops) {
    if (ops.empty()) return;
    const bool named = std::any_of(ops.begin(), ops.end(),
                                   [](const ExpectedOp& op) { return op.rank.has_value(); });
    if (named) {
      in_order(ops, 0);
      return;
    }
    bool somewhere = false;
    for (std::uint32_t rank = 0; rank < graph_.ranks; ++rank) {
      const bool all = std::all_of(ops.begin(), ops.end(),
                                   [&](const ExpectedOp& op) { return find(rank, op).exists; });
      if (!all) continue;
      somewhere = true;
      if (!in_order(ops, rank)) return;  // only the first such rank is reported
    }
    if (!somewhere) add(Aspect::kOrder, ops.front().place);
  }

  const Expectation& expected_;
  const TaskGraph& graph_;
  const Simulation& run_;
  const Explanation& found_;
  std::map<std::pair<std::uint32_t, std::string>, sim::ActorId> actors_;
  std::vector<Unmet> result_;
};

}  // namespace

std::optional<std::int64_t> memory_of(const ExpectedMemory& expected,
                                      const std::optional<MemoryReport>& report) {
  std::optional<std::int64_t> most;
  if (!report) return most;
  for (const std::uint32_t rank : expected.on) {
    most = std::max(most.value_or(0), bytes_of(expected, (*report)[rank]));
  }
  return most;
}

std::vector<Unmet> unmet(const Expectation& expectation, const TaskGraph& graph,
                         const Simulation& run) {
  return Check(expectation, graph, run).run();
}

}  // namespace pipesim::models
