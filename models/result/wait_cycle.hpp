// Cycles of the wait-for graph: the cycle to show, and the distances from other nodes to the cycle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/wait_graph.hpp"

namespace pipesim::models {

/// The edges of a wait-for graph by target node, for backward searches. The edges to node n are
/// edges[begin[n]] to edges[begin[n + 1] - 1], ascending.
struct IncomingWaits {
  std::vector<std::uint32_t> begin;
  std::vector<std::uint32_t> edges;  // indices in WaitGraph::edges

  explicit IncomingWaits(const sim::WaitGraph& graph);
};

/// A closed chain of waits: each edge starts at the target of the previous edge, and the first edge
/// at the target of the last.
struct WaitCycle {
  std::vector<std::uint32_t> edges;  // indices in WaitGraph::edges; empty: no cycle
  bool shortest = true;  // whether no shorter cycle exists; false: the cycle only has no chords
  std::uint32_t components = 0;  // number of groups of nodes that wait for one another in cycles
};

/// The maximum number of nodes of a strong component in which the search for the shortest cycle is
/// exact.
inline constexpr std::uint32_t kLargestExactComponent = 20'000;

/// Returns the shortest cycle of `graph`. Among several shortest cycles, returns the first in a
/// node by node comparison, starting from the smallest node. Nodes are sorted by rank, place in the
/// file and op number. In a component larger than `exact_limit`, returns a cycle without chords: no
/// edge between its nodes can shorten the cycle.
///
/// Cost: linear time for strong components (Tarjan, by Boost.Graph), then one search per node of a
/// component. A search goes no deeper than the length of the best cycle so far.
WaitCycle find_cycle(const sim::WaitGraph& graph,
                     std::uint32_t exact_limit = kLargestExactComponent);

/// Returns the shortest cycles of all components except the component of `first`, at most `most`
/// cycles, sorted by the smallest node of their component. `exact_limit`: as for find_cycle().
std::vector<WaitCycle> find_other_cycles(const sim::WaitGraph& graph, const WaitCycle& first,
                                         std::size_t most,
                                         std::uint32_t exact_limit = kLargestExactComponent);

/// Returns for each node whether the node waits for itself through other nodes.
std::vector<bool> in_cycles(const sim::WaitGraph& graph);

/// Returns for each node the smallest number of waits from the node to one of `targets`; kNoIndex
/// (0xffffffff) if no target is reachable.
std::vector<std::uint32_t> distances_to(const sim::WaitGraph& graph,
                                        const std::vector<std::uint32_t>& targets);

}  // namespace pipesim::models
