#include "models/result/wait_cycle.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"

using namespace pipesim;

namespace {

using Arrows = std::set<std::pair<std::uint32_t, std::uint32_t>>;
using Cycle = std::vector<std::uint32_t>;

sim::WaitGraph graph_of(std::uint32_t nodes, const Arrows& arrows) {
  sim::WaitGraph graph;
  for (std::uint32_t i = 0; i < nodes; ++i) {
    graph.nodes.push_back({sim::WaitNodeKind::kOp, sim::ActorId{i}, 0, sim::RankId{0}});
  }
  for (const auto& [from, to] : arrows) {
    sim::WaitEdge edge;
    edge.from = from;
    edge.to = to;
    graph.edges.push_back(edge);
  }
  return graph;
}

Cycle nodes_of(const sim::WaitGraph& graph, const models::WaitCycle& cycle) {
  Cycle nodes;
  for (const std::uint32_t edge : cycle.edges) nodes.push_back(graph.edges[edge].from);
  return nodes;
}

// Finds all simple cycles that start with their smallest node, by trying every path.
void extend(const Arrows& arrows, Cycle& path, std::vector<Cycle>& all) {
  for (const auto& [from, to] : arrows) {
    if (from != path.back() || to < path.front()) continue;
    if (to == path.front()) {
      all.push_back(path);
    } else if (std::find(path.begin(), path.end(), to) == path.end()) {
      path.push_back(to);
      extend(arrows, path, all);
      path.pop_back();
    }
  }
}

std::optional<Cycle> shortest_by_trying(std::uint32_t nodes, const Arrows& arrows) {
  std::vector<Cycle> all;
  for (std::uint32_t start = 0; start < nodes; ++start) {
    Cycle path = {start};
    extend(arrows, path, all);
  }
  if (all.empty()) return std::nullopt;
  return *std::min_element(all.begin(), all.end(), [](const Cycle& a, const Cycle& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint32_t below(std::uint32_t limit) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(state_ >> 33) % limit;
  }

 private:
  std::uint64_t state_;
};

Arrows random_arrows(Random& random, std::uint32_t nodes, std::uint32_t count) {
  Arrows arrows;
  for (std::uint32_t i = 0; i < count; ++i) {
    arrows.emplace(random.below(nodes), random.below(nodes));
  }
  return arrows;
}

bool has_chord(const Arrows& arrows, const Cycle& cycle) {
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    for (std::size_t j = 0; j < cycle.size(); ++j) {
      const bool next = j == (i + 1) % cycle.size();
      if (!next && arrows.count({cycle[i], cycle[j]}) > 0) return true;
    }
  }
  return false;
}

}  // namespace

TEST_CASE("an acyclic graph has no cycle", "[models][wait_cycle]") {
  const sim::WaitGraph graph = graph_of(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}});
  const models::WaitCycle cycle = models::find_cycle(graph);
  CHECK(cycle.edges.empty());
  CHECK(cycle.components == 0);
}

TEST_CASE("a node that waits for itself is a cycle of one", "[models][wait_cycle]") {
  const sim::WaitGraph graph = graph_of(3, {{0, 1}, {1, 2}, {2, 2}});
  CHECK(nodes_of(graph, models::find_cycle(graph)) == Cycle{2});
}

TEST_CASE("of two shortest cycles the one that is first by its nodes is found",
          "[models][wait_cycle]") {
  const sim::WaitGraph graph =
      graph_of(6, {{1, 3}, {3, 5}, {5, 1}, {1, 2}, {2, 5}, {0, 1}, {4, 0}, {0, 4}});
  // The cycle {0, 4} is shorter than {1, 2, 5} and {1, 3, 5}.
  CHECK(nodes_of(graph, models::find_cycle(graph)) == Cycle{0, 4});
  const sim::WaitGraph without = graph_of(6, {{1, 3}, {3, 5}, {5, 1}, {1, 2}, {2, 5}});
  CHECK(nodes_of(without, models::find_cycle(without)) == Cycle{1, 2, 5});
  CHECK(models::find_cycle(graph).components == 2);
}

TEST_CASE("on random graphs the first shortest cycle is the one that trying all finds",
          "[models][wait_cycle]") {
  Random random(7);
  int with_cycle = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::uint32_t nodes = 1 + random.below(8);
    const Arrows arrows = random_arrows(random, nodes, random.below(2 * nodes + 1));
    const sim::WaitGraph graph = graph_of(nodes, arrows);
    const std::optional<Cycle> expected = shortest_by_trying(nodes, arrows);
    const models::WaitCycle found = models::find_cycle(graph);
    INFO("graph " << i);
    REQUIRE(found.edges.empty() != expected.has_value());
    if (!expected) continue;
    ++with_cycle;
    REQUIRE(nodes_of(graph, found) == *expected);
    REQUIRE(found.shortest);
  }
  CHECK(with_cycle > 1000);
}

TEST_CASE("beyond the limit of the exact search a cycle without chords is found, and said to be so",
          "[models][wait_cycle]") {
  Random random(11);
  int inexact = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::uint32_t nodes = 4 + random.below(8);
    const Arrows arrows = random_arrows(random, nodes, 2 * nodes);
    const sim::WaitGraph graph = graph_of(nodes, arrows);
    const models::WaitCycle found = models::find_cycle(graph, 3);
    INFO("graph " << i);
    REQUIRE(found.edges.empty() == models::find_cycle(graph).edges.empty());
    if (found.edges.empty()) continue;
    const Cycle cycle = nodes_of(graph, found);
    for (std::size_t k = 0; k < cycle.size(); ++k) {
      REQUIRE(graph.edges[found.edges[k]].to == cycle[(k + 1) % cycle.size()]);
    }
    REQUIRE(!has_chord(arrows, cycle));
    if (!found.shortest) ++inexact;
  }
  CHECK(inexact > 100);
}

TEST_CASE("each other component has its shortest cycle", "[models][wait_cycle]") {
  // The cycles are 0-1 and 2-3-4, the second with a detour over 5. Node 6 waits for both cycles but
  // is on neither.
  const sim::WaitGraph graph =
      graph_of(7, {{0, 1}, {1, 0}, {2, 3}, {3, 4}, {4, 2}, {3, 5}, {5, 4}, {6, 0}, {6, 2}});
  const models::WaitCycle first = models::find_cycle(graph);
  CHECK(nodes_of(graph, first) == Cycle{0, 1});
  CHECK(first.components == 2);
  const auto others = models::find_other_cycles(graph, first, 10);
  REQUIRE(others.size() == 1);
  CHECK(nodes_of(graph, others[0]) == Cycle{2, 3, 4});
  CHECK(models::find_other_cycles(graph, first, 0).empty());
}

TEST_CASE("distances count the waits to the nearest target", "[models][wait_cycle]") {
  const sim::WaitGraph graph = graph_of(5, {{0, 1}, {1, 2}, {3, 1}, {2, 1}});
  CHECK(models::distances_to(graph, {1, 2}) == std::vector<std::uint32_t>{1, 0, 0, 1, 0xffffffff});
}
