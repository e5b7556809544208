// The search for the shortest cycle. The search tries each node v of a strong component as the
// smallest node of a cycle, in ascending order. A backward search from v through larger nodes of
// the component gives every node's distance to v. The shortest cycle through v has length 1 + the
// minimum distance of v's successors. A walk from v that always takes the smallest node that is one
// step nearer to v yields the first such cycle in the order of find_cycle(). A later v wins only
// with a strictly shorter cycle, so no search goes deeper than the best length so far.
//
// In a component beyond the limit, a single search starts from the smallest node; chords then
// shorten the cycle of this search until no chord is left.
//
// tests/unit/models/result/wait_cycle_test.cpp compares the results with all cycles of random
// small graphs.
#include "models/result/wait_cycle.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/strong_components.hpp>

#include "models/graph/task_graph.hpp"
#include "sim/assert.hpp"

namespace pipesim::models {
namespace {

using BoostGraph = boost::compressed_sparse_row_graph<boost::directedS>;

class CycleSearch {
 public:
  CycleSearch(const sim::WaitGraph& graph, std::uint32_t exact_limit)
      : graph_(graph), incoming_(graph), exact_limit_(exact_limit) {}

  WaitCycle run();
  std::vector<WaitCycle> run_others(const WaitCycle& first, std::size_t most);
  std::vector<bool> circular_nodes();

 private:
  void find_components();
  std::uint32_t search_back(std::uint32_t start, bool smaller_nodes_too, std::uint32_t limit);
  void walk(std::uint32_t start);
  void cut_chords();
  bool cut_shortest_chord();
  std::uint32_t first_edge(std::uint32_t node) const;
  bool inside(const sim::WaitEdge& edge) const {
    return component_[edge.from] == component_[edge.to];
  }

  const sim::WaitGraph& graph_;
  IncomingWaits incoming_;
  std::uint32_t exact_limit_;
  std::vector<std::uint32_t> component_;       // by node: its strong component
  std::vector<std::uint32_t> component_size_;  // by component: number of nodes
  std::vector<std::uint8_t> circular_;   // by component: whether the component contains a cycle
  std::vector<std::uint32_t> distance_;  // by node: distance to the start of the last search
  std::vector<std::uint32_t> queue_;     // nodes of the last search
  WaitCycle result_;
};

void CycleSearch::find_components() {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  pairs.reserve(graph_.edges.size());
  for (const sim::WaitEdge& edge : graph_.edges) pairs.emplace_back(edge.from, edge.to);
  const BoostGraph boost_graph(boost::edges_are_sorted, pairs.begin(), pairs.end(),
                               graph_.nodes.size());
  component_.resize(graph_.nodes.size());
  const auto count = boost::strong_components(
      boost_graph, boost::make_iterator_property_map(component_.begin(),
                                                     boost::get(boost::vertex_index, boost_graph)));
  component_size_.assign(count, 0);
  for (const std::uint32_t component : component_) ++component_size_[component];
  circular_.assign(count, 0);
  for (const sim::WaitEdge& edge : graph_.edges) {
    if (inside(edge)) circular_[component_[edge.from]] = 1;
  }
  result_.components =
      static_cast<std::uint32_t>(std::count(circular_.begin(), circular_.end(), 1));
}

// Returns the length of the shortest cycle through `start`; kNoIndex if longer than `limit`. Leaves
// distances to `start` for walk().
std::uint32_t CycleSearch::search_back(std::uint32_t start, bool smaller_nodes_too,
                                       std::uint32_t limit) {
  for (const std::uint32_t node : queue_) distance_[node] = kNoIndex;
  queue_.assign(1, start);
  distance_[start] = 0;
  for (std::size_t at = 0; at < queue_.size(); ++at) {
    const std::uint32_t node = queue_[at];
    if (distance_[node] >= limit) break;
    for (std::uint32_t i = incoming_.begin[node]; i < incoming_.begin[node + 1]; ++i) {
      const sim::WaitEdge& edge = graph_.edges[incoming_.edges[i]];
      if (edge.from == start) return distance_[node] + 1;
      if (!inside(edge) || distance_[edge.from] != kNoIndex) continue;
      if (edge.from < start && !smaller_nodes_too) continue;
      distance_[edge.from] = distance_[node] + 1;
      queue_.push_back(edge.from);
    }
  }
  return kNoIndex;
}

std::uint32_t CycleSearch::first_edge(std::uint32_t node) const {
  const auto found =
      std::lower_bound(graph_.edges.begin(), graph_.edges.end(), node,
                       [](const sim::WaitEdge& edge, std::uint32_t n) { return edge.from < n; });
  return static_cast<std::uint32_t>(found - graph_.edges.begin());
}

// Builds the cycle that search_back(start) found; prefers smaller nodes.
void CycleSearch::walk(std::uint32_t start) {
  result_.edges.clear();
  std::uint32_t node = start;
  do {
    std::uint32_t best = kNoIndex;
    for (std::uint32_t i = first_edge(node);
         i < graph_.edges.size() && graph_.edges[i].from == node; ++i) {
      const std::uint32_t to = graph_.edges[i].to;
      if (component_[to] != component_[start] || distance_[to] == kNoIndex) continue;
      const bool nearer = best == kNoIndex || distance_[to] < distance_[graph_.edges[best].to];
      const bool as_near = best != kNoIndex && distance_[to] == distance_[graph_.edges[best].to];
      if (nearer || (as_near && to < graph_.edges[best].to)) best = i;
    }
    result_.edges.push_back(best);
    node = graph_.edges[best].to;
  } while (node != start);
}

// Shortens the cycle by the best chord: an edge between two nodes that are not neighbors on the
// cycle. Rotates the smallest node to the front. Returns whether the cycle got shorter.
bool CycleSearch::cut_shortest_chord() {
  const auto length = static_cast<std::uint32_t>(result_.edges.size());
  for (const std::uint32_t node : queue_) distance_[node] = kNoIndex;
  queue_.clear();
  PIPESIM_CHECK(length > 0);
  // Uses `distance_` for the position of a node on the cycle.
  for (std::uint32_t i = 0; i < length; ++i) {
    queue_.push_back(graph_.edges[result_.edges[i]].from);
    distance_[queue_.back()] = i;
  }
  std::uint32_t best_length = length;
  std::uint32_t best = kNoIndex;
  for (const std::uint32_t node : queue_) {
    for (std::uint32_t i = first_edge(node);
         i < graph_.edges.size() && graph_.edges[i].from == node; ++i) {
      const std::uint32_t to = distance_[graph_.edges[i].to];
      if (to == kNoIndex) continue;
      const std::uint32_t closed = (distance_[node] + length - to) % length + 1;
      if (closed >= best_length) continue;
      best_length = closed;
      best = i;
    }
  }
  if (best == kNoIndex) return false;
  std::vector<std::uint32_t> edges;
  for (std::uint32_t i = 0; i + 1 < best_length; ++i) {
    edges.push_back(result_.edges[(distance_[graph_.edges[best].to] + i) % length]);
  }
  edges.push_back(best);
  const auto smallest =
      std::min_element(edges.begin(), edges.end(), [&](std::uint32_t a, std::uint32_t b) {
        return graph_.edges[a].from < graph_.edges[b].from;
      });
  std::rotate(edges.begin(), smallest, edges.end());
  result_.edges = std::move(edges);
  return true;
}

void CycleSearch::cut_chords() {
  while (cut_shortest_chord()) {
  }
}

WaitCycle CycleSearch::run() {
  find_components();
  distance_.assign(graph_.nodes.size(), kNoIndex);
  std::uint32_t best = kNoIndex;
  std::vector<std::uint8_t> done(component_size_.size(), 0);
  for (std::uint32_t node = 0; node < graph_.nodes.size(); ++node) {
    const std::uint32_t component = component_[node];
    if (circular_[component] == 0 || done[component] != 0) continue;
    const bool exact = component_size_[component] <= exact_limit_;
    if (!exact) done[component] = 1;
    const std::uint32_t length = search_back(node, !exact, best == kNoIndex ? kNoIndex : best - 1);
    if (length == kNoIndex || length >= best) continue;
    result_.shortest = exact;
    walk(node);
    if (!exact) cut_chords();
    best = static_cast<std::uint32_t>(result_.edges.size());
  }
  return result_;
}

// Runs the search of run() separately for each component.
std::vector<WaitCycle> CycleSearch::run_others(const WaitCycle& first, std::size_t most) {
  find_components();
  distance_.assign(graph_.nodes.size(), kNoIndex);
  std::map<std::uint32_t, WaitCycle> found;  // by component: its cycle
  std::vector<std::uint32_t> order;
  std::vector<std::uint8_t> done(component_size_.size(), 0);
  if (!first.edges.empty()) done[component_[graph_.edges[first.edges.front()].from]] = 1;
  for (std::uint32_t node = 0; node < graph_.nodes.size(); ++node) {
    const std::uint32_t component = component_[node];
    if (circular_[component] == 0 || done[component] != 0) continue;
    const auto known = found.find(component);
    if (known == found.end() && found.size() == most) continue;
    const bool exact = component_size_[component] <= exact_limit_;
    if (!exact) done[component] = 1;
    const bool is_first = known == found.end();
    const std::uint32_t best =
        is_first ? kNoIndex : static_cast<std::uint32_t>(known->second.edges.size());
    const std::uint32_t length = search_back(node, !exact, is_first ? kNoIndex : best - 1);
    if (length == kNoIndex || length >= best) continue;
    result_.shortest = exact;
    walk(node);
    if (!exact) cut_chords();
    if (is_first) order.push_back(component);
    found[component] = result_;
  }
  std::vector<WaitCycle> result;
  for (const std::uint32_t component : order) result.push_back(std::move(found[component]));
  return result;
}

std::vector<bool> CycleSearch::circular_nodes() {
  find_components();
  std::vector<bool> result;
  for (const std::uint32_t component : component_) result.push_back(circular_[component] != 0);
  return result;
}

}  // namespace

IncomingWaits::IncomingWaits(const sim::WaitGraph& graph)
    : begin(graph.nodes.size() + 1, 0), edges(graph.edges.size()) {
  for (const sim::WaitEdge& edge : graph.edges) ++begin[edge.to + 1];
  for (std::size_t i = 0; i + 1 < begin.size(); ++i) begin[i + 1] += begin[i];
  std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
  for (std::uint32_t i = 0; i < graph.edges.size(); ++i) edges[next[graph.edges[i].to]++] = i;
}

std::vector<bool> in_cycles(const sim::WaitGraph& graph) {
  return CycleSearch(graph, kLargestExactComponent).circular_nodes();
}

std::vector<WaitCycle> find_other_cycles(const sim::WaitGraph& graph, const WaitCycle& first,
                                         std::size_t most, std::uint32_t exact_limit) {
  return CycleSearch(graph, exact_limit).run_others(first, most);
}

WaitCycle find_cycle(const sim::WaitGraph& graph, std::uint32_t exact_limit) {
  return CycleSearch(graph, exact_limit).run();
}

std::vector<std::uint32_t> distances_to(const sim::WaitGraph& graph,
                                        const std::vector<std::uint32_t>& targets) {
  const IncomingWaits incoming(graph);
  std::vector<std::uint32_t> distance(graph.nodes.size(), kNoIndex);
  std::vector<std::uint32_t> queue;
  for (const std::uint32_t target : targets) {
    if (distance[target] == 0) continue;
    distance[target] = 0;
    queue.push_back(target);
  }
  for (std::size_t at = 0; at < queue.size(); ++at) {
    const std::uint32_t node = queue[at];
    for (std::uint32_t i = incoming.begin[node]; i < incoming.begin[node + 1]; ++i) {
      const std::uint32_t from = graph.edges[incoming.edges[i]].from;
      if (distance[from] != kNoIndex) continue;
      distance[from] = distance[node] + 1;
      queue.push_back(from);
    }
  }
  return distance;
}

}  // namespace pipesim::models
