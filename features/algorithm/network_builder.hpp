// Builds a network node by node.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <utility>
#include <vector>

#include "features/algorithm/algorithm_network.hpp"

namespace pipesim::models {

class NetworkBuilder {
 public:
  std::uint32_t counter(AlgoCounter counter) {
    network.counters.push_back(counter);
    return static_cast<std::uint32_t>(network.counters.size() - 1);
  }

  void block(std::uint32_t rank, std::uint32_t index) {
    network.blocks.push_back({rank, index, static_cast<std::uint32_t>(network.nodes.size())});
  }

  /// Begins a node of the last block; later needs, posts and moves belong to this node.
  std::uint32_t node(std::uint32_t step, std::uint32_t launch, std::uint32_t lane) {
    if (network.nodes.size() >= kMaxAlgoNodes) throw std::length_error("too many steps");
    AlgoNode node = ends();
    node.block = static_cast<std::uint32_t>(network.blocks.size() - 1);
    node.step = step;
    node.launch = launch;
    node.lane = lane;
    network.nodes.push_back(node);
    return static_cast<std::uint32_t>(network.nodes.size() - 1);
  }

  void need(std::uint32_t counter, std::uint32_t count) {
    network.needs.push_back({counter, count});
  }
  void post(std::uint32_t counter) { network.posts.push_back(counter); }
  void after(std::uint32_t node) { network.after.push_back(node); }
  void move(const std::vector<std::uint32_t>& reads, const std::vector<std::uint32_t>& writes,
            bool by_switch = false) {
    begin_move(by_switch);
    network.reads.insert(network.reads.end(), reads.begin(), reads.end());
    network.writes.insert(network.writes.end(), writes.begin(), writes.end());
  }
  void begin_move(bool by_switch = false) {
    if (network.moves.size() >= kMaxAlgoCells) throw std::length_error("too many chunks");
    network.moves.push_back({static_cast<std::uint32_t>(network.reads.size()),
                             static_cast<std::uint32_t>(network.writes.size()), by_switch});
  }

  /// Adds the end entries, which close the last ranges.
  AlgoNetwork finish() {
    network.blocks.push_back({0, kNoAlgoIndex, static_cast<std::uint32_t>(network.nodes.size())});
    network.nodes.push_back(ends());
    begin_move();
    return std::move(network);
  }

  AlgoNetwork network;

 private:
  AlgoNode ends() const {
    AlgoNode node;
    node.needs_begin = static_cast<std::uint32_t>(network.needs.size());
    node.posts_begin = static_cast<std::uint32_t>(network.posts.size());
    node.moves_begin = static_cast<std::uint32_t>(network.moves.size());
    node.after_begin = static_cast<std::uint32_t>(network.after.size());
    return node;
  }
};

/// Builds the network of MSCCL's steps, or of MSCCL++'s ops, in the given memory layout.
AlgoNetwork build_msccl_network(const CollectiveAlgorithm& algorithm,
                                const AlgoNetworkOptions& options, AlgoMemory memory);
AlgoNetwork build_mscclpp_network(const CollectiveAlgorithm& algorithm,
                                  const AlgoNetworkOptions& options, AlgoMemory memory);

}  // namespace pipesim::models
