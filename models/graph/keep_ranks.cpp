#include "models/graph/keep_ranks.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "models/graph/graph_edit.hpp"

namespace pipesim::models {
namespace {

void keep_ranks_of(std::vector<ProgramStep>& steps, const RankSet& kept) {
  for (ProgramStep& step : steps) {
    if (step.on) step.on = both(*step.on, kept);
    keep_ranks_of(step.block, kept);
  }
}

// Removes a read from ranks that are removed, and from ranks whose producer is on a removed rank.
void keep_ranks_of(ReadTemplate& read, const RankSet& kept) {
  std::vector<std::uint32_t> ranks;
  for (const std::uint32_t rank : read.on) {
    if (!kept.contains(rank)) continue;
    const auto producer = read.rank ? read.rank->value(rank) : rank;
    const bool is_there = producer && *producer >= 0 && *producer < kNoIndex &&
                          kept.contains(static_cast<std::uint32_t>(*producer));
    if (is_there) ranks.push_back(rank);
  }
  read.on = RankSet(std::move(ranks));
}

// Removes a step from the ranks on which one of its calls has a removed peer or root.
void keep_calls_of(ActorTemplate& actor, const RankSet& kept) {
  if (!actor.step) return;
  for (const CallTemplate& call : actor.step->calls) {
    if (!call.peer) continue;
    std::vector<std::uint32_t> ranks;
    for (const std::uint32_t rank : actor.on) {
      const auto peer = call.peer->value(rank);
      const bool is_out = peer && *peer >= 0 && *peer < kNoIndex &&
                          !kept.contains(static_cast<std::uint32_t>(*peer));
      if (!is_out) ranks.push_back(rank);
    }
    actor.on = RankSet(std::move(ranks));
  }
}

/// A mapping of the kept ranks to new numbers.
class Renumbering {
 public:
  explicit Renumbering(const RankSet& kept) : kept_(kept) {}

  bool failed() const { return failed_; }

  std::uint32_t number(std::uint32_t rank) {
    const auto at = std::lower_bound(kept_.begin(), kept_.end(), rank);
    if (at == kept_.end() || *at != rank) failed_ = true;
    return static_cast<std::uint32_t>(at - kept_.begin());
  }

  void ranks(RankSet& set) {
    std::vector<std::uint32_t> result;
    for (const std::uint32_t rank : set) result.push_back(number(rank));
    set = RankSet(std::move(result));
  }

  /// Rewrites `expr`, used on the ranks `on`, for the new rank numbers. If `is_rank`, the values of
  /// `expr` are ranks and are also renumbered.
  void expr(Expr& expr, const RankSet& on, bool is_rank = false) {
    if (!expr.depends_on_rank() && !is_rank) return;
    std::vector<std::pair<std::uint32_t, std::int64_t>> values;
    for (const std::uint32_t rank : on) {
      const auto value = expr.value(rank);
      if (!value) continue;
      const bool fits = *value >= 0 && *value < kNoIndex;
      if (is_rank && !fits) failed_ = true;
      if (failed_) return;
      values.emplace_back(number(rank),
                          is_rank ? number(static_cast<std::uint32_t>(*value)) : *value);
    }
    expr = over(values, is_rank);
  }

 private:
  Expr over(const std::vector<std::pair<std::uint32_t, std::int64_t>>& values, bool is_rank);

  const RankSet& kept_;
  bool failed_ = false;
};

// Returns a constant, a linear expression or a chain of choices with these values. For two values a
// choice is clearer than a linear expression, unless they are ranks.
Expr Renumbering::over(const std::vector<std::pair<std::uint32_t, std::int64_t>>& values,
                       bool is_rank) {
  constexpr std::size_t kMaxCases = 16;
  if (values.empty()) return Expr::constant(0);
  const auto [first, value] = values.front();
  const auto is_constant = [value = value](const auto& it) { return it.second == value; };
  if (std::all_of(values.begin(), values.end(), is_constant)) return Expr::constant(value);
  const std::int64_t far = std::int64_t{values[1].first} - first;
  const std::int64_t step = (values[1].second - value) / far;
  const auto is_on_line = [&, first = first, value = value](const auto& it) {
    return it.second == value + step * (std::int64_t{it.first} - first);
  };
  const bool tells_two = values.size() == 2 && !is_rank;
  if (!tells_two && std::all_of(values.begin(), values.end(), is_on_line)) {
    const std::int64_t at_zero = value - step * first;
    const bool falls = step < 0 && at_zero != 0;  // 1 - rank, not -1 * rank + 1
    const std::int64_t factor = falls ? -step : step;
    Expr along = factor == 1
                     ? Expr::rank()
                     : Expr::binary(Expr::Op::kMultiply, Expr::constant(factor), Expr::rank());
    if (at_zero == 0) return along;
    if (falls) return Expr::binary(Expr::Op::kSubtract, Expr::constant(at_zero), along);
    return Expr::binary(at_zero > 0 ? Expr::Op::kAdd : Expr::Op::kSubtract, along,
                        Expr::constant(at_zero > 0 ? at_zero : -at_zero));
  }
  std::map<std::int64_t, std::size_t> counts;
  for (const auto& [rank, it] : values) ++counts[it];
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (values.size() - most->second > kMaxCases) failed_ = true;
  Expr result = Expr::constant(most->first);
  for (auto it = values.rbegin(); it != values.rend() && !failed_; ++it) {
    if (it->second == most->first) continue;
    result = Expr::select(Expr::binary(Expr::Op::kEqual, Expr::rank(), Expr::constant(it->first)),
                          Expr::constant(it->second), result);
  }
  return result;
}

void renumber(std::vector<ProgramStep>& steps, Renumbering& numbers) {
  for (ProgramStep& step : steps) {
    if (step.on) numbers.ranks(*step.on);
    renumber(step.block, numbers);
  }
}

void renumber(Cluster& cluster, const RankSet& kept) {
  std::vector<std::uint32_t> hosts;
  std::vector<std::uint32_t> devices;
  for (const std::uint32_t rank : kept) {
    hosts.push_back(cluster.host_of_rank[rank]);
    devices.push_back(cluster.device_of_rank[rank]);
  }
  cluster.host_of_rank = std::move(hosts);
  cluster.device_of_rank = std::move(devices);
}

}  // namespace

void keep_ranks(TaskGraph& graph, const RankSet& kept) {
  for (Group& group : graph.groups) {
    for (std::vector<std::uint32_t>& list : group.lists) {
      std::erase_if(list, [&](std::uint32_t rank) { return !kept.contains(rank); });
    }
    std::erase_if(group.lists, [](const auto& list) { return list.empty(); });
    group.index();
  }
  for (HostThread& thread : graph.threads) keep_ranks_of(thread.program, kept);
  for (ActorTemplate& actor : graph.actors) {
    actor.on = both(actor.on, kept);
    keep_calls_of(actor, kept);
    for (ReadTemplate& read : actor.reads) keep_ranks_of(read, kept);
  }
  for (RankFault& fault : graph.faults.ranks) fault.ranks = both(fault.ranks, kept);
  std::erase_if(graph.faults.ranks, [](const RankFault& fault) { return fault.ranks.empty(); });
  drop_actors_on_no_rank(graph);
}

std::optional<TaskGraph> renumbered_ranks(const TaskGraph& graph, const RankSet& kept) {
  TaskGraph result = graph;
  Renumbering numbers(kept);
  for_each_part(result, [&](auto& part, const RankSet& on) {
    for_each_expr(part, [&](Expr& expr, const auto& field) {
      numbers.expr(expr, both(on, kept), field.value.to == To::kRank);
    });
    for_each_rank_set(part, [&](RankSet& set) { numbers.ranks(set); });
  });
  numbers.expr(result.launch_queue, kept);
  if (result.memory) numbers.expr(*result.memory, kept);
  for (Group& group : result.groups) {
    for (std::vector<std::uint32_t>& list : group.lists) {
      for (std::uint32_t& rank : list) rank = numbers.number(rank);
    }
  }
  for (HostThread& thread : result.threads) renumber(thread.program, numbers);
  if (numbers.failed()) return std::nullopt;
  if (result.cluster) renumber(*result.cluster, kept);
  result.ranks = static_cast<std::uint32_t>(kept.size());
  for (Group& group : result.groups) group.index();
  return result;
}

}  // namespace pipesim::models
