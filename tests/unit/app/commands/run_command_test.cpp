// `pipesim run`: what its report says of several cycles.
#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"

using namespace pipesim;
using testing::command;
using testing::contains;

namespace {

// Each pair of ranks sends before it receives; ranks 6 and 7 receive before they send.
const char* const kPairs = R"(schema: 1
ranks: 8
reading: contract
groups: {pp: {size: 2}}
programs:
  - on: 0..5
    do:
      - {send: pp, to: rank + 1 - 2 * (rank % 2), bytes: 1MiB}
      - {recv: pp, from: rank + 1 - 2 * (rank % 2), bytes: 1MiB}
  - on: 6..7
    do:
      - {recv: pp, from: rank + 1 - 2 * (rank % 2), bytes: 1MiB}
      - {send: pp, to: rank + 1 - 2 * (rank % 2), bytes: 1MiB}
)";

}  // namespace

TEST_CASE("run: cycles that differ in their ranks alone are listed once", "[app][run_command]") {
  const auto all = command({"run", "-", "--all"}, kPairs);
  INFO(all.out << all.err);
  CHECK(contains(all.out, "\nThe cycle: 4 waits, ranks 0 and 1\n"));
  CHECK(contains(all.out, "\n  x 3: the same on ranks 2 and 3; ranks 4 and 5\n"));
  // That of the other shape has its waits, and the number that it has among all.
  CHECK_FALSE(contains(all.out, "Cycle 2 of 4"));
  CHECK_FALSE(contains(all.out, "Cycle 3 of 4"));
  CHECK(contains(all.out, "\nCycle 4 of 4: 4 waits\n"));
  CHECK(contains(command({"run", "-"}, kPairs).out,
                 "4 independent cycles; the shortest is shown (--all for all)."));
}

TEST_CASE("run: where all cycles are alike the note says so", "[app][run_command]") {
  std::string text = kPairs;
  text.replace(text.find("0..5"), 4, "all");
  text.resize(text.find("  - on: 6..7"));
  CHECK(contains(command({"run", "-"}, text).out,
                 "4 independent cycles, the same on other ranks; one is shown (--all for their\n"
                 "  ranks)."));
  CHECK(contains(command({"run", "-", "--all"}, text).out,
                 "x 4: the same on ranks 2 and 3; ranks 4 and 5; ranks 6 and 7"));
}
