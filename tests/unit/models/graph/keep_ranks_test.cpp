#include "models/graph/keep_ranks.hpp"

#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace pipesim;
using namespace pipesim::models;

namespace {

TaskGraph graph_of(const std::string& text) {
  Diagnostics diagnostics;
  auto scenario = formats::read_scenario(text, {}, diagnostics);
  if (!scenario) throw std::runtime_error(testing::text_of(diagnostics));
  return std::move(scenario->graph);
}

// Each odd rank passes data to the rank before it; the time of A is 10 us times the rank.
const std::string kChain = R"(
schema: 1
ranks: 6
groups: {pairs: {size: 2}}
actors:
  A: {source: 2, takes: "rank * 10us"}
  B: {on: [0, 2, 4], reads: [{from: A, rank: "rank + 1"}]}
  C: {on: [1, 5], reads: [A]}
  D: {collective: {all_reduce: pairs}, reads: [A]}
)";

std::vector<std::uint32_t> list(const RankSet& ranks) { return {ranks.begin(), ranks.end()}; }

}  // namespace

TEST_CASE("ranks that are out have nothing to do", "[models][keep_ranks]") {
  TaskGraph graph = graph_of(kChain);
  keep_ranks(graph, RankSet({2, 3, 4}));
  CHECK(graph.ranks == 6);
  CHECK(graph.groups[0].lists == std::vector<std::vector<std::uint32_t>>{{2, 3}, {4}});
  // C was on ranks 1 and 5 only, so it is removed.
  REQUIRE(graph.actors.size() == 3);
  CHECK(graph.actors[0].name == "A");
  CHECK(list(graph.actors[0].on) == std::vector<std::uint32_t>{2, 3, 4});
  CHECK(graph.actors[1].name == "B");
  CHECK(list(graph.actors[1].on) == std::vector<std::uint32_t>{2, 4});
  // Rank 4 read from rank 5, which is not kept.
  REQUIRE(graph.actors[1].reads.size() == 1);
  CHECK(list(graph.actors[1].reads[0].on) == std::vector<std::uint32_t>{2});
  CHECK(graph.actors[2].name == "D");
}

TEST_CASE("what is left is numbered from 0, and means the same", "[models][keep_ranks]") {
  const RankSet kept({2, 3, 5});
  TaskGraph graph = graph_of(kChain);
  keep_ranks(graph, kept);
  const auto small = renumbered_ranks(graph, kept);
  REQUIRE(small);
  CHECK(small->ranks == 3);
  CHECK(small->groups[0].lists == std::vector<std::vector<std::uint32_t>>{{0, 1}, {2}});
  const Expr& takes = small->actors[0].takes;
  CHECK(takes.value(0) == 20'000);
  CHECK(takes.value(1) == 30'000);
  CHECK(takes.value(2) == 50'000);
  const ReadTemplate& read = small->actors[1].reads.front();
  CHECK(list(read.on) == std::vector<std::uint32_t>{0});
  CHECK(read.rank->value(0) == 1);
  // C of rank 5 is on rank 2 of the smaller job.
  CHECK(list(small->actors[2].on) == std::vector<std::uint32_t>{2});
}

TEST_CASE("an expression stays one where its values lie on a line", "[models][keep_ranks]") {
  const RankSet kept({1, 3, 5});
  TaskGraph graph = graph_of(kChain);
  keep_ranks(graph, kept);
  const auto small = renumbered_ranks(graph, kept);
  REQUIRE(small);
  // The times are 10, 30 and 50 us on ranks 0, 1 and 2.
  const Expr& takes = small->actors[0].takes;
  CHECK(takes ==
        Expr::binary(Expr::Op::kAdd,
                     Expr::binary(Expr::Op::kMultiply, Expr::constant(20'000), Expr::rank()),
                     Expr::constant(10'000)));
}

TEST_CASE("what refers to a rank that is out cannot be numbered anew", "[models][keep_ranks]") {
  const TaskGraph graph = graph_of(kChain);
  CHECK_FALSE(renumbered_ranks(graph, RankSet({0, 1})).has_value());
}
