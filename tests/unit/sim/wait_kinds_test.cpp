#include "sim/wait_kinds.hpp"

#include <array>
#include <set>
#include <string_view>

#include "tests/support/catch.hpp"

namespace sim = pipesim::sim;

TEST_CASE("each kind of wait has its own name", "[sim][waits]") {
  std::set<std::string_view> names;
  for (const sim::WaitKindFacts& row : sim::kWaitKinds) {
    CHECK_FALSE(row.name.empty());
    CHECK(names.insert(row.name).second);
  }
}

TEST_CASE("rows that are missing or in another order are found", "[sim][waits]") {
  struct Row {
    int kind;
  };
  CHECK(sim::has_row_per_kind(std::array<Row, 2>{{{0}, {1}}}));
  CHECK_FALSE(sim::has_row_per_kind(std::array<Row, 2>{{{1}, {0}}}));
  CHECK_FALSE(sim::has_row_per_kind(std::array<Row, 2>{{{0}}}));
}
