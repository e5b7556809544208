// Cycles of the wait-for graph: the one to show, and how far everything else is from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/wait_graph.hpp"

namespace pipesim::models {

/// The edges of a wait-for graph by the node that they lead to, for searches against the arrows:
/// those to node n are edges[begin[n]] to edges[begin[n + 1] - 1], ascending.
struct IncomingWaits {
  std::vector<std::uint32_t> begin;
  std::vector<std::uint32_t> edges;  // indices in WaitGraph::edges

  explicit IncomingWaits(const sim::WaitGraph& graph);
};

/// A closed chain of waits: edge i leads from the node of edge i to that of edge i + 1, the last
/// back to the first.
struct WaitCycle {
  std::vector<std::uint32_t> edges;  // indices in WaitGraph::edges; empty: there is no cycle
  bool shortest = true;              // false: only one that cannot be shortened
  std::uint32_t components = 0;      // groups of nodes that wait for each other in a circle
};

/// The largest strong component in which the shortest cycle is searched for without limits.
inline constexpr std::uint32_t kLargestExactComponent = 20'000;

/// The shortest cycle of `graph`. Of several, the first when each is read from its smallest node on
/// and compared node by node; nodes are ordered by rank, place in the file and act. In a component
/// larger than `exact_limit`, one without chords: it cannot be shortened by an edge between its
/// nodes.
///
/// Cost: strong components (Tarjan, by Boost.Graph) in linear time, then one search per node of a
/// component, which looks no deeper than the best cycle so far.
WaitCycle find_cycle(const sim::WaitGraph& graph,
                     std::uint32_t exact_limit = kLargestExactComponent);

/// The shortest cycle of each component but that of `first`, at most `most` of them, in the order
/// of their smallest nodes. In a component larger than `exact_limit`, as for find_cycle.
std::vector<WaitCycle> find_other_cycles(const sim::WaitGraph& graph, const WaitCycle& first,
                                         std::size_t most,
                                         std::uint32_t exact_limit = kLargestExactComponent);

/// For each node whether it waits for itself, through others.
std::vector<bool> in_circles(const sim::WaitGraph& graph);

/// For each node the smallest number of waits that lead from it to one of `targets`; kNoIndex
/// (0xffffffff) where none does.
std::vector<std::uint32_t> distances_to(const sim::WaitGraph& graph,
                                        const std::vector<std::uint32_t>& targets);

}  // namespace pipesim::models
