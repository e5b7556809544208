// `pipesim run`: its report of several cycles, and of ranks with identical waits.
#include <string>

#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"

using namespace pipesim;
using testing::command;
using testing::contains;

namespace {

// Each pair of ranks sends before it receives, except ranks 6 and 7, which receive first.
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
  // The report lists the waits of the cycle with another shape, under its number among all cycles.
  CHECK_FALSE(contains(all.out, "Cycle 2 of 4"));
  CHECK_FALSE(contains(all.out, "Cycle 3 of 4"));
  CHECK(contains(all.out, "\nCycle 4 of 4: 4 waits\n"));
  CHECK(contains(command({"run", "-"}, kPairs).out,
                 "4 independent cycles; the shortest is shown (--all shows all)."));
}

TEST_CASE("run: where all cycles are alike the note says so", "[app][run_command]") {
  std::string text = kPairs;
  text.replace(text.find("0..5"), 4, "all");
  text.resize(text.find("  - on: 6..7"));
  CHECK(contains(command({"run", "-"}, text).out,
                 "4 independent cycles that differ only in their ranks;"));
  CHECK(contains(command({"run", "-", "--all"}, text).out,
                 "x 4: the same on ranks 2 and 3; ranks 4 and 5; ranks 6 and 7"));
}

TEST_CASE("run --json --by-class: ranks that say the same are one item", "[app][run_command]") {
  const auto report = [](const std::string& text) {
    const auto run = command({"run", "-", "--json", "--by-class"}, text);
    INFO(run.err);
    return nlohmann::json::parse(run.out);
  };
  const auto late = report(R"(schema: 1
ranks: 24
groups: {dp: {size: 4, stride: 6}}
programs:
  do:
    - {compute: work, takes: 1us}
    - {compute: more, takes: 1us, on: rank % 6 == 2}
    - {all_reduce: dp, takes: 1us, on: rank != 14}
)");
  // Ranks 2, 8 and 20 wait for rank 14, which makes no call. All others are done.
  REQUIRE(late["ranks"].size() == 3);
  CHECK(late["ranks"][0]["rank"] == 0);
  CHECK(late["ranks"][0]["device"] == "idle");
  CHECK(late["ranks"][0]["ranks"].dump() == "[[0,1,1],[3,7,1],[9,13,1],[15,19,1],[21,23,1]]");
  CHECK(late["ranks"][1]["ranks"].dump() == "[[2,2,1],[8,8,1],[20,20,1]]");
  CHECK(late["ranks"][2]["ranks"].dump() == "[[14,14,1]]");

  const auto schedule = report(
      "schema: 1\nparallel: {pipeline: 2, tensor: 2, data: 4}\n"
      "schedule: {kind: 1f1b, micro_batches: 4}\n");
  CHECK(schedule["ranks"].size() == 2);
  CHECK(schedule["schedule"]["ranks"][1]["ranks"].dump() == "[[8,15,1]]");
}

TEST_CASE("run: --by-class is for --json", "[app][run_command]") {
  const auto run = command({"run", "-", "--by-class"}, kPairs);
  CHECK(run.code == 2);
  CHECK(contains(run.err, "'--by-class' is for '--json'"));
}
