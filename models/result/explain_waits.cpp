// Search for the decisive waits of a quiescent run: cycles, and the roots at which chains of waits
// end.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "models/result/explanation.hpp"
#include "models/result/wait_cycle.hpp"
#include "sim/assert.hpp"

namespace pipesim::models {
namespace {

using sim::WaitEdge;
using sim::WaitGraph;
using sim::WaitNode;
using sim::WaitNodeKind;

// Number of ranks that each rank represents; null: 1.
using Copies = const std::vector<std::uint32_t>*;

std::uint32_t copies_of(const WaitNode& node, Copies copies) {
  return copies == nullptr ? 1 : (*copies)[node.rank.value];
}

using DescribeWait = std::function<Wait(const WaitEdge&)>;

// The maximum number of other cycles that are reported in full. Further cycles are only counted,
// and reported by their ranks.
constexpr std::size_t kMaxOtherCycles = 100;

// Cycles of a run, grouped by the kinds and ops of their waits, without ranks.
class CycleClasses {
 public:
  void add(const std::vector<Wait>& cycle) {
    std::string shape;
    std::set<std::uint32_t> ranks;
    for (const Wait& wait : cycle) {
      const OpInfo& op = wait.from.op;
      shape += std::to_string(static_cast<int>(wait.from.kind)) + " " +
               std::to_string(static_cast<int>(wait.kind)) + " " + op.name + "#" +
               std::to_string(op.number) + " " + op.call_name + "\n";
      ranks.insert(wait.from.rank);
    }
    const auto [known, is_new] = known_.emplace(std::move(shape), classes_.size());
    if (is_new) classes_.emplace_back().first = cycle;
    classes_[known->second].ranks.emplace_back(ranks.begin(), ranks.end());
  }

  std::vector<CycleClass> take() { return std::move(classes_); }

 private:
  std::vector<CycleClass> classes_;
  std::map<std::string, std::size_t> known_;
};

void explain_cycle(const WaitGraph& waits, const WaitCycle& cycle, const DescribeWait& describe,
                   Explanation& result, Copies copies) {
  std::vector<std::uint32_t> on_cycle;
  const auto described = [&](const WaitCycle& it) {
    std::vector<Wait> list;
    for (const std::uint32_t edge : it.edges) {
      list.push_back(describe(waits.edges[edge]));
      on_cycle.push_back(waits.edges[edge].from);
    }
    return list;
  };
  result.cycle = described(cycle);
  if (cycle.components > 1) {
    CycleClasses classes;
    classes.add(result.cycle);
    for (const WaitCycle& other : find_other_cycles(waits, cycle, cycle.components)) {
      std::vector<Wait> list = described(other);
      classes.add(list);
      if (result.other_cycles.size() < kMaxOtherCycles) {
        result.other_cycles.push_back(std::move(list));
      }
    }
    result.cycle_classes = classes.take();
  }
  result.cycle_is_shortest = cycle.shortest;
  result.cycle_groups = cycle.components;
  result.collateral = result.stuck - static_cast<std::uint32_t>(on_cycle.size());
  const std::vector<std::uint32_t> distances = distances_to(waits, on_cycle);
  for (std::size_t i = 0; i < distances.size(); ++i) {
    const std::uint32_t distance = distances[i];
    if (distance == 0 || distance == kNoIndex || waits.nodes[i].kind != WaitNodeKind::kOp) continue;
    if (result.collateral_by_distance.size() < distance) {
      result.collateral_by_distance.resize(distance, 0);
    }
    result.collateral_by_distance[distance - 1] += copies_of(waits.nodes[i], copies);
  }
}

// The number of ops that wait for each root, directly or indirectly.
class WaitersOfRoots {
 public:
  WaitersOfRoots(const WaitGraph& waits, Copies copies)
      : waits_(waits), copies_(copies), incoming_(waits), seen_(waits.nodes.size(), kNoIndex) {}

  std::uint32_t first_edge(std::uint32_t root) const {
    return incoming_.edges[incoming_.begin[root]];
  }

  // Returns the number of waiters of `root`. Roots with the same direct waiters share one search.
  std::uint32_t count(std::uint32_t root) {
    std::vector<std::uint32_t> straight;
    for (std::uint32_t i = incoming_.begin[root]; i < incoming_.begin[root + 1]; ++i) {
      const std::uint32_t from = waits_.edges[incoming_.edges[i]].from;
      if (straight.empty() || straight.back() != from) straight.push_back(from);
    }
    const auto [known, is_new] = known_.try_emplace(straight, 0);
    if (is_new) known->second = search(std::move(straight), root);
    return known->second;
  }

 private:
  std::uint32_t search(std::vector<std::uint32_t> queue, std::uint32_t root) {
    std::uint32_t count = 0;
    for (const std::uint32_t node : queue) seen_[node] = root;
    for (std::size_t at = 0; at < queue.size(); ++at) {
      const std::uint32_t node = queue[at];
      count += copies_of(waits_.nodes[node], copies_);
      for (std::uint32_t i = incoming_.begin[node]; i < incoming_.begin[node + 1]; ++i) {
        const std::uint32_t from = waits_.edges[incoming_.edges[i]].from;
        if (seen_[from] == root) continue;
        seen_[from] = root;
        queue.push_back(from);
      }
    }
    return count;
  }

  const WaitGraph& waits_;
  Copies copies_;
  IncomingWaits incoming_;
  std::vector<std::uint32_t> seen_;  // by node: the root of the last search that reached the node
  std::map<std::vector<std::uint32_t>, std::uint32_t> known_;
};

// Adds the roots in node order: ranks first, then the outside.
void explain_roots(const WaitGraph& waits, const DescribeWait& describe, Explanation& result,
                   Copies copies) {
  const auto is_root = [](const WaitNode& node) { return node.kind != WaitNodeKind::kOp; };
  if (std::none_of(waits.nodes.begin(), waits.nodes.end(), is_root)) return;
  WaitersOfRoots waiters(waits, copies);
  for (std::uint32_t node = 0; node < waits.nodes.size(); ++node) {
    if (!is_root(waits.nodes[node])) continue;
    Root root;
    root.first = describe(waits.edges[waiters.first_edge(node)]);
    root.party = root.first.to;
    root.waiting = waiters.count(node);
    result.roots.push_back(std::move(root));
  }
}

}  // namespace

std::uint32_t stuck_ops(const WaitGraph& waits, Copies copies) {
  std::uint32_t count = 0;
  for (const WaitNode& node : waits.nodes) {
    if (node.kind == WaitNodeKind::kOp) count += copies_of(node, copies);
  }
  return count;
}

void explain_waits(const WaitGraph& waits, const DescribeWait& describe, bool look_for_cycle,
                   Explanation& result, Copies copies) {
  result.stuck = stuck_ops(waits, copies);
  explain_roots(waits, describe, result, copies);
  result.collateral = result.stuck;
  const WaitCycle cycle = look_for_cycle ? find_cycle(waits) : WaitCycle();
  if (!cycle.edges.empty()) {
    explain_cycle(waits, cycle, describe, result, copies);
    result.verdict = sim::Verdict::kDeadlock;
    result.cause = Cause::kCycle;
    return;
  }
  if (result.stuck == 0) {
    // Only the work of dead ranks is missing, and no live rank waits for this work.
    PIPESIM_CHECK(!result.mismatches.empty() || !result.deaths.empty());
    result.verdict = sim::Verdict::kCrashed;
    result.cause = Cause::kDeadRank;
    return;
  }
  // Every chain of waits in a quiescent run ends in a cycle or at a root.
  PIPESIM_CHECK(!result.mismatches.empty() || !result.roots.empty(), {"stuck", result.stuck});
  result.verdict = sim::Verdict::kStarved;
  result.cause = Cause::kOutsideInput;
  for (const Root& root : result.roots) result.cause = std::min(result.cause, cause_of(root));
}

// Returns the cause of the verdict; the enumerators of Cause are sorted by precedence.
Cause cause_of(const Root& root) {
  if (root.party.kind == WaitNodeKind::kOutside) {
    // If the waiting op is a recv from any rank, the missing sender is an absent member.
    return sim::facts(root.first.kind).of_message ? Cause::kAbsentMember : Cause::kOutsideInput;
  }
  switch (sim::facts(root.first.kind).absence) {
    case sim::Absence::kDead:
      return Cause::kDeadRank;
    case sim::Absence::kUnreachable:
      return Cause::kFailedLink;
    case sim::Absence::kMissing:
      break;
  }
  return Cause::kAbsentMember;
}

}  // namespace pipesim::models
