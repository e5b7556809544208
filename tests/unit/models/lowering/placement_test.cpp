#include "models/lowering/placement.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"

using namespace pipesim;

namespace {

// Returns, for each rank, the ranks from which its actor `b` reads `a`.
std::map<std::uint32_t, std::vector<std::uint32_t>> readers(const std::string& more) {
  const models::Lowered lowered = testing::lowered_of(
      "schema: 1\nranks: 4\ngroups: {pairs: {size: 2}}\nactors:\n  a: {source: 1}\n  b: " + more +
      "\n");
  const sim::Plan& plan = lowered.plan;
  std::map<std::uint32_t, std::vector<std::uint32_t>> found;
  for (const sim::Edge& edge : plan.edges) {
    const sim::ActorId producer = plan.registers[edge.source].producer;
    found[plan.actors[edge.consumer].rank.value].push_back(plan.actors[producer].rank.value);
  }
  return found;
}

using Readers = std::map<std::uint32_t, std::vector<std::uint32_t>>;

}  // namespace

TEST_CASE("actors are numbered rank by rank, in the order of the file", "[models][placement]") {
  const models::Lowered lowered = testing::lowered_of(
      "schema: 1\nranks: 2\nactors:\n  a: {source: 1, on: 1}\n  b: {source: 1}\n  c: {source: "
      "1}\n");
  std::vector<std::pair<std::uint32_t, std::uint32_t>> found;  // rank and actor template
  for (const sim::ActorId id : ids_of(lowered.plan.actors)) {
    found.emplace_back(lowered.plan.actors[id].rank.value, lowered.actor_template[id]);
  }
  CHECK(found == decltype(found){{0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}});
}

TEST_CASE("an actor reads from its own rank, another or those of its group",
          "[models][placement]") {
  CHECK(readers("{reads: [a], on: 1..2}") == Readers{{1, {1}}, {2, {2}}});
  CHECK(readers("{reads: [{from: a, rank: rank - 1}], on: 1..2}") == Readers{{1, {0}}, {2, {1}}});
  CHECK(readers("{reads: [{from: a, on: 1}, {from: a, rank: 3}], on: 1..2}") ==
        Readers{{1, {1, 3}}, {2, {3}}});
  CHECK(readers("{reads: [{from: a, each: pairs}], on: 1..2}") ==
        Readers{{1, {0, 1}}, {2, {2, 3}}});
}
