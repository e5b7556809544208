#include "models/graph/task_graph.hpp"
#include "tests/support/catch.hpp"

namespace {

using pipesim::models::Group;
using pipesim::models::kNoIndex;

}  // namespace

TEST_CASE("a group knows the list of each of its ranks, and of no other", "[models][graph]") {
  Group group;
  group.lists = {{7, 5}, {9}};
  group.index();
  CHECK(group.list_of(5) == 0);
  CHECK(group.list_of(7) == 0);
  CHECK(group.list_of(9) == 1);
  for (const std::uint32_t rank : {0U, 4U, 6U, 8U, 10U, kNoIndex}) {
    INFO("rank " << rank);
    CHECK(group.list_of(rank) == kNoIndex);
  }
}

TEST_CASE("a group without ranks has none of them", "[models][graph]") {
  Group group;
  group.index();
  CHECK(group.list_of(0) == kNoIndex);
  CHECK(group.list_of(kNoIndex) == kNoIndex);
}
