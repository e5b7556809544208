#include "features/algorithm/algorithm_waits.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace pipesim::models {
namespace {

using sim::WaitKind;
using sim::WaitNodeKind;

class HangExplainer {
 public:
  HangExplainer(const CollectiveAlgorithm& algorithm, const AlgoNetwork& network,
                const AlgoRun& run, std::uint32_t slots)
      : algorithm_(algorithm), network_(network), run_(run), slots_(slots) {}

  AlgoHang explain() {
    find_posts();
    add_nodes();
    for (std::uint32_t block = 0; block < network_.block_count(); ++block) {
      if (stuck(block)) add_edges(block);
    }
    std::stable_sort(
        edges_.begin(), edges_.end(),
        [](const sim::WaitEdge& a, const sim::WaitEdge& b) { return a.from < b.from; });
    waits_.edges = edges_;
    AlgoHang hang;
    const auto describe = [&](const sim::WaitEdge& edge) { return describe_edge(edge); };
    explain_waits(waits_, describe, true, hang.explanation);
    for (const sim::WaitEdge& edge : waits_.edges) hang.waits.push_back(describe(edge));
    count(hang.explanation);
    return hang;
  }

 private:
  bool stuck(std::uint32_t block) const {
    return run_.next[block] != network_.blocks[block + 1].nodes_begin;
  }

  // Finds, for each counter, the nodes that would still raise it.
  void find_posts() {
    for (std::uint32_t block = 0; block < network_.block_count(); ++block) {
      for (std::uint32_t node = run_.next[block]; node < network_.blocks[block + 1].nodes_begin;
           ++node) {
        for (std::uint32_t i = network_.nodes[node].posts_begin;
             i < network_.nodes[node + 1].posts_begin; ++i) {
          coming_[network_.posts[i]].push_back(node);
        }
      }
    }
  }

  void add_nodes() {
    for (std::uint32_t block = 0; block < network_.block_count(); ++block) {
      if (!stuck(block)) continue;
      node_of_block_[block] = static_cast<std::uint32_t>(waits_.nodes.size());
      waits_.nodes.push_back({WaitNodeKind::kOp, sim::ActorId{run_.next[block]}, 0,
                              sim::RankId{network_.blocks[block].rank}});
    }
    // If no remaining node raises a counter, its waits lead to the rank that should raise it.
    for (std::uint32_t block = 0; block < network_.block_count(); ++block) {
      if (!stuck(block)) continue;
      for (const AlgoNeed& need : unmet(block)) {
        if (coming_.count(need.counter) != 0) continue;
        absent_.emplace(network_.counters[need.counter].peer, 0);
      }
    }
    for (auto& [rank, node] : absent_) {
      node = static_cast<std::uint32_t>(waits_.nodes.size());
      waits_.nodes.push_back({WaitNodeKind::kRank, sim::ActorId{}, 0, sim::RankId{rank}});
    }
  }

  std::vector<AlgoNeed> unmet(std::uint32_t block) const {
    std::vector<AlgoNeed> result;
    const AlgoNode& node = network_.nodes[run_.next[block]];
    for (std::uint32_t i = node.needs_begin; i < (&node + 1)->needs_begin; ++i) {
      AlgoNeed need = network_.needs[i];
      const AlgoCounter& counter = network_.counters[need.counter];
      if (counter.kind == WaitKind::kSlot) need.count -= std::min(need.count, slots_);
      const bool short_of = run_.counts[need.counter] < need.count;
      if (short_of || counter.contested) result.push_back(need);
    }
    return result;
  }

  void add_edges(std::uint32_t block) {
    for (const AlgoNeed& need : unmet(block)) {
      const AlgoCounter& counter = network_.counters[need.counter];
      sim::WaitEdge edge;
      edge.from = node_of_block_.at(block);
      edge.kind = counter.kind;
      const auto coming = coming_.find(need.counter);
      if (coming == coming_.end()) {
        edge.to = absent_.at(counter.peer);
        edges_.push_back(edge);
        continue;
      }
      // If several thread blocks can raise the counter, each of them gets an edge.
      std::uint32_t missing = need.count - std::min(need.count, run_.counts[need.counter]);
      std::uint32_t last_block = kNoAlgoIndex;
      std::uint32_t of_block = 0;
      for (const std::uint32_t node : coming->second) {
        const std::uint32_t other = network_.nodes[node].block;
        of_block = other == last_block ? of_block + 1 : 1;
        const bool first = other != last_block;
        last_block = other;
        if (!first && of_block > missing) continue;
        if (!first) edges_.pop_back();
        edge.to = node_of_block_.at(other);
        edge.needed_actor = sim::ActorId{node};
        edges_.push_back(edge);
      }
    }
  }

  Wait describe_edge(const sim::WaitEdge& edge) const {
    const auto party = [&](const sim::WaitNode& node) {
      WaitParty result;
      result.kind = node.kind;
      result.rank = node.rank.value;
      if (node.kind == WaitNodeKind::kOp) {
        result.op = describe_step(algorithm_, network_, node.actor.value);
        result.op.stage = OpStage::kStarted;
      }
      return result;
    };
    Wait wait;
    wait.from = party(waits_.nodes[edge.from]);
    wait.to = party(waits_.nodes[edge.to]);
    wait.kind = edge.kind;
    const sim::WaitNode& to = waits_.nodes[edge.to];
    if (to.kind == WaitNodeKind::kOp &&
        network_.nodes[edge.needed_actor.value].step != network_.nodes[to.actor.value].step) {
      wait.needed = describe_step(algorithm_, network_, edge.needed_actor.value);
    }
    return wait;
  }

  void count(Explanation& explanation) const {
    std::vector<RankReport> ranks(algorithm_.ranks.size());
    for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
      ranks[rank].rank = rank;
      ranks[rank].spins = true;
    }
    for (std::uint32_t block = 0; block < network_.block_count(); ++block) {
      const AlgoNetworkBlock& of = network_.blocks[block];
      if (of.block == kNoAlgoIndex) continue;
      const AlgoBlock& steps = algorithm_.ranks[of.rank].blocks[of.block];
      Progress progress;
      progress.what = "tb " + std::to_string(of.block);
      progress.of = Progress::Of::kOps;
      progress.expected = static_cast<std::uint32_t>(steps.steps.size());
      progress.done = progress.expected;
      if (stuck(block)) {
        const std::uint32_t step = network_.nodes[run_.next[block]].step;
        progress.done = std::min(step, progress.expected);
        progress.stuck = describe_step(algorithm_, network_, run_.next[block]);
        progress.stuck->stage = OpStage::kStarted;
      }
      explanation.ops_done += progress.done;
      explanation.ops_expected += progress.expected;
      ranks[of.rank].progress.push_back(std::move(progress));
    }
    explanation.ranks = std::move(ranks);
  }

  const CollectiveAlgorithm& algorithm_;
  const AlgoNetwork& network_;
  const AlgoRun& run_;
  const std::uint32_t slots_;
  // [counter]: nodes that would still raise it.
  std::map<std::uint32_t, std::vector<std::uint32_t>> coming_;
  std::map<std::uint32_t, std::uint32_t> node_of_block_;
  std::map<std::uint32_t, std::uint32_t> absent_;  // rank to node
  sim::WaitGraph waits_;
  std::vector<sim::WaitEdge> edges_;
};

}  // namespace

OpInfo describe_step(const CollectiveAlgorithm& algorithm, const AlgoNetwork& network,
                     std::uint32_t node) {
  const AlgoNode& of = network.nodes[node];
  const AlgoNetworkBlock& block = network.blocks[of.block];
  OpInfo info;
  info.actor = sim::ActorId{node};
  info.rank = block.rank;
  info.in_program = true;
  if (block.block == kNoAlgoIndex) {
    info.name = of.launch == 0 ? "the kernel before the first launch"
                               : "the kernel after launch " + std::to_string(of.launch);
    return info;
  }
  info.thread = "tb " + std::to_string(block.block);
  if (of.step == kNoAlgoIndex) {
    info.name = info.thread + " of launch " + std::to_string(of.launch + 1);
    return info;
  }
  const AlgoStep& step = algorithm.ranks[block.rank].blocks[block.block].steps[of.step];
  info.name = info.thread + " step " + std::to_string(of.step);
  info.statement = step_text(algorithm, block.rank, step);
  if (step.place.line != 0) info.at = line_text(step.place);
  if (sends(step.kind) && !receives(step.kind)) info.call = sim::CallKind::kSend;
  if (receives(step.kind) && !sends(step.kind)) info.call = sim::CallKind::kReceive;
  return info;
}

AlgoHang explain_hang(const CollectiveAlgorithm& algorithm, const AlgoNetwork& network,
                      const AlgoRun& run, std::uint32_t slots) {
  return HangExplainer(algorithm, network, run, slots).explain();
}

}  // namespace pipesim::models
