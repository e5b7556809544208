#include "models/result/why.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>

namespace pipesim::models {
namespace {

using sim::WaitEdge;
using sim::WaitGraph;
using sim::WaitNodeKind;

/// The chain of waits from one node.
class Chain {
 public:
  Chain(const TaskGraph& graph, const Simulation& run)
      : graph_(graph), run_(run), waits_(run.waits), first_edge_(waits_.nodes.size() + 1, 0) {
    for (const WaitEdge& edge : waits_.edges) ++first_edge_[edge.from + 1];
    for (std::size_t i = 1; i < first_edge_.size(); ++i) first_edge_[i] += first_edge_[i - 1];
    for (const Wait& wait : run.explanation.cycle) cycle_.insert(key(wait.from.op));
  }

  // Returns the node of op `k`, or of the earlier op that the actor must do first.
  std::uint32_t find(sim::ActorId actor, std::uint32_t k) const {
    std::uint32_t found = kNoIndex;
    for (std::uint32_t i = 0; i < waits_.nodes.size(); ++i) {
      const sim::WaitNode& node = waits_.nodes[i];
      if (node.kind == WaitNodeKind::kOp && node.actor == actor && node.k <= k) found = i;
    }
    return found;
  }

  void follow(std::uint32_t node, Why& result) {
    const std::vector<std::uint32_t> edges = shortest(node);
    for (const std::uint32_t edge : edges) result.chain.push_back(wait(edge));
    const std::uint32_t end = edges.empty() ? node : waits_.edges[edges.back()].to;
    if (on_cycle(end)) {
      add_cycle(end, result);
    } else if (first_edge_[end] != first_edge_[end + 1]) {
      walk(end, result);
    }
  }

 private:
  static std::tuple<sim::ActorId, std::string, std::uint32_t> key(const OpInfo& op) {
    return {op.actor, op.name, op.number};
  }

  Wait wait(std::uint32_t edge) const {
    return describe_wait(graph_, run_.lowered, run_.outcome.state, waits_, waits_.edges[edge]);
  }

  bool on_cycle(std::uint32_t node) const {
    const sim::WaitNode& of = waits_.nodes[node];
    return of.kind == WaitNodeKind::kOp && !cycle_.empty() &&
           cycle_.count(
               key(describe_op(graph_, run_.lowered, run_.outcome.state, of.actor, of.k))) > 0;
  }

  // Finds a shortest path to the cycle, or to a node without waits (breadth-first search). Returns
  // an empty path if neither is reachable.
  std::vector<std::uint32_t> shortest(std::uint32_t from) const {
    std::vector<std::uint32_t> edge_to(waits_.nodes.size(), kNoIndex);
    std::vector<std::uint32_t> queue = {from};
    std::vector<std::uint8_t> seen(waits_.nodes.size(), 0);
    seen[from] = 1;
    for (std::size_t next = 0; next < queue.size(); ++next) {
      const std::uint32_t node = queue[next];
      if (on_cycle(node) || first_edge_[node] == first_edge_[node + 1]) {
        return path(node, from, edge_to);
      }
      for (std::uint32_t edge = first_edge_[node]; edge < first_edge_[node + 1]; ++edge) {
        const std::uint32_t to = waits_.edges[edge].to;
        if (seen[to] != 0) continue;
        seen[to] = 1;
        edge_to[to] = edge;
        queue.push_back(to);
      }
    }
    return {};
  }

  std::vector<std::uint32_t> path(std::uint32_t node, std::uint32_t from,
                                  const std::vector<std::uint32_t>& edge_to) const {
    std::vector<std::uint32_t> edges;
    while (node != from) {
      edges.push_back(edge_to[node]);
      node = waits_.edges[edge_to[node]].from;
    }
    std::reverse(edges.begin(), edges.end());
    return edges;
  }

  void add_cycle(std::uint32_t node, Why& result) const {
    result.cycle = run_.explanation.cycle;
    const sim::WaitNode& of = waits_.nodes[node];
    const auto start = key(describe_op(graph_, run_.lowered, run_.outcome.state, of.actor, of.k));
    const auto first = std::find_if(result.cycle.begin(), result.cycle.end(),
                                    [&](const Wait& wait) { return key(wait.from.op) == start; });
    std::rotate(result.cycle.begin(), first, result.cycle.end());
  }

  // Follows the first wait of each node until a node repeats.
  void walk(std::uint32_t node, Why& result) const {
    std::vector<std::uint32_t> step_of(waits_.nodes.size(), kNoIndex);
    std::vector<std::uint32_t> edges;
    while (step_of[node] == kNoIndex) {
      step_of[node] = static_cast<std::uint32_t>(edges.size());
      edges.push_back(first_edge_[node]);
      node = waits_.edges[first_edge_[node]].to;
    }
    for (std::uint32_t i = 0; i < edges.size(); ++i) {
      (i < step_of[node] ? result.chain : result.cycle).push_back(wait(edges[i]));
    }
  }

  const TaskGraph& graph_;
  const Simulation& run_;
  const WaitGraph& waits_;
  std::vector<std::uint32_t> first_edge_;  // by node: its first edge in WaitGraph::edges
  std::set<std::tuple<sim::ActorId, std::string, std::uint32_t>> cycle_;
};

// Returns the current step of the host that would launch the op.
std::optional<OpInfo> host_before(const Explanation& explanation, const OpInfo& op) {
  if (op.stage != OpStage::kNotEntered || !op.in_program) return std::nullopt;
  const std::string& name = op.on_host ? op.stream : op.thread;
  for (const RankReport& rank : explanation.ranks) {
    if (rank.rank != op.rank) continue;
    for (const ThreadReport& thread : rank.threads) {
      if (thread.name == name && !thread.finished) return thread.at;
    }
  }
  return std::nullopt;
}

}  // namespace

Why why(const TaskGraph& graph, const Simulation& run, sim::ActorId actor, std::uint32_t k) {
  Why result;
  const sim::State& state = run.outcome.state;
  result.op = describe_op(graph, run.lowered, state, actor, k);
  if (result.op.stage == OpStage::kDone) {
    result.times = run.outcome.op_times.of(actor, k);
    return result;
  }
  Chain chain(graph, run);
  std::uint32_t node = chain.find(actor, k);
  if (node == kNoIndex) {
    result.host_at = host_before(run.explanation, result.op);
    if (!result.host_at || result.host_at->number == 0) return result;
    actor = result.host_at->actor;
    k = result.host_at->number - 1;
    node = chain.find(actor, k);
  }
  if (node == kNoIndex) return result;
  const std::uint32_t found = run.waits.nodes[node].k;
  if (found != k) result.earlier = describe_op(graph, run.lowered, state, actor, found);
  chain.follow(node, result);
  return result;
}

}  // namespace pipesim::models
