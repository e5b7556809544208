// Explanations of waits: the ends of wait chains and the number of cycles, also for many cycles.
#include <numeric>
#include <string>

#include <fmt/format.h>

#include "models/result/explanation.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"
#include "viz/report/report_lines.hpp"

using namespace pipesim;
using models::Explanation;
using testing::explanation_of;

namespace {

// Returns the explanation of pairs of ranks that both send before they receive; afterwards, all
// ranks wait for all ranks.
Explanation crossing_pairs(int pairs) {
  return explanation_of(fmt::format(R"(schema: 1
reading: contract
ranks: {}
groups: {{pp: {{size: 2}}, world: all}}
programs:
  do:
    - {{send: pp, to: rank + 1 - rank % 2 * 2, bytes: 64MiB}}
    - {{recv: pp, from: rank + 1 - rank % 2 * 2, bytes: 64MiB}}
    - {{all_reduce: world, bytes: 8B, after: [nccl pp]}}
)",
                                    2 * pairs));
}

// Returns the explanation of a job in which the first rank of every eight skips the first of two
// identical calls.
Explanation one_of_eight(int ranks) {
  return explanation_of(fmt::format(R"(schema: 1
ranks: {}
groups: {{tp: {{size: 8}}}}
programs:
  do:
    - {{all_reduce: tp, bytes: 1KiB, on: rank % 8 != 0, at: "a.py:1"}}
    - {{all_reduce: tp, bytes: 1KiB, at: "a.py:2"}}
)",
                                    ranks));
}

}  // namespace

TEST_CASE("of many cycles none is taken for what is stuck elsewhere", "[models][explain]") {
  for (const int pairs : {2, 102, 150}) {
    CAPTURE(pairs);
    const Explanation found = crossing_pairs(pairs);
    const auto count = static_cast<std::size_t>(pairs);
    CHECK(found.cycle_groups == count);
    REQUIRE(found.cycle_classes.size() == 1);
    CHECK(found.cycle_classes[0].ranks.size() == count);
    CHECK(found.cycle_classes[0].ranks[1] == std::vector<std::uint32_t>{2, 3});
    CHECK(found.other_cycles.size() == std::min<std::size_t>(count - 1, 100));
    // Each rank's send and recv are on a cycle; every other stuck op waits for a cycle.
    CHECK(found.collateral == found.stuck - 4 * count);
    CHECK(std::accumulate(found.collateral_by_distance.begin(), found.collateral_by_distance.end(),
                          0u) == found.collateral);
    CHECK(viz::cycle_note(found) ==
          fmt::format("{} independent cycles that differ only in their ranks; one is shown (--all "
                      "lists the ranks).",
                      pairs));
  }
  CHECK(viz::alike_text(crossing_pairs(150).cycle_classes[0]) ==
        "x 150: the same on ranks 2 and 3; ranks 4 and 5; ...; ranks 298 and 299");
}

TEST_CASE("roots that are alike are one line, however many", "[models][explain]") {
  const Explanation few = one_of_eight(8);
  REQUIRE(few.roots.size() == 1);
  CHECK(few.roots[0].waiting == 7);
  const auto line = viz::root_lines(few);
  REQUIRE(line.size() == 1);
  CHECK(line[0] ==
        "rank 0 made 1 call on 'tp', the others 2; the one missing is all_reduce tp#1 (a.py:1); 7 "
        "ops wait for it, the first of them rank 1's all_reduce tp.2#1 (running)");
  const Explanation many = one_of_eight(8192);
  CHECK(many.roots.size() == 1024);
  const auto lines = viz::root_lines(many);
  REQUIRE(lines.size() == 1);
  CHECK(
      lines[0] ==
      "ranks 0, 8, ... 8184 (every 8th, 1024 ranks) made 1 call on 'tp', the others 2; the one "
      "missing is all_reduce tp#1 (a.py:1); 7 ops wait for each, the first of them the all_reduce "
      "tp.2#1 of ranks 1, 9, ... 8185 (every 8th, 1024 ranks) (running)");
}

TEST_CASE("roots for which the same ops wait, and others for which more do", "[models][explain]") {
  // Ranks 0 and 1 make two calls; the first call lacks ranks 2 and 3. Rank 5 waits only for rank 4.
  const Explanation found = explanation_of(R"(schema: 1
reading: contract
ranks: 6
groups: {g: 0..3, h: [[4, 5]]}
programs:
  - {on: 0..1, do: [{all_reduce: g}, {all_reduce: g}]}
  - {on: 5, do: [{all_reduce: h}]}
)");
  REQUIRE(found.roots.size() == 3);
  CHECK(found.roots[0].party.rank == 2);
  CHECK(found.roots[0].waiting == 4);
  CHECK(found.roots[1].party.rank == 3);
  CHECK(found.roots[1].waiting == 4);
  CHECK(found.roots[2].party.rank == 4);
  CHECK(found.roots[2].waiting == 1);
}

TEST_CASE("the call that a rank leaves out is reported, not a later one", "[models][explain]") {
  const auto missing = [](const Explanation& found) {
    REQUIRE(found.roots.size() == 1);
    REQUIRE(found.roots[0].missing.has_value());
    return fmt::format("{}#{}", std::string(found.roots[0].missing->at),
                       found.roots[0].missing->number);
  };
  const std::string skipped = R"(schema: 1
ranks: 4
groups: {dp: all}
programs:
  do:
    - {all_reduce: dp, bytes: 1MiB, at: "60"}
    - {all_reduce: dp, bytes: 1MiB, on: rank != 2, at: "66"}
    - {all_reduce: dp, bytes: 1MiB, at: "70"}
)";
  const Explanation found = explanation_of(skipped);
  CHECK(missing(found) == "66#1");
  CHECK(found.roots[0].first.from.op.at == "70");
  REQUIRE(found.roots[0].before.has_value());
  CHECK(found.roots[0].before->at == "70");
  // Rank 2 skips a call in the third iteration, which lowering makes a separate step, hence #1.
  CHECK(missing(explanation_of(R"(schema: 1
ranks: 3
groups: {dp: all}
programs:
  do:
    - repeat: 4
      index: i
      do:
        - {all_reduce: dp, bytes: 1MiB, when: "rank != 2 or i != 2", at: "12"}
        - {all_reduce: dp, bytes: 1MiB, at: "66"}
)")) == "12#1");
  // Each rank has its own program; calls are matched by their lines in the user's code.
  CHECK(missing(explanation_of(R"(schema: 1
ranks: 2
groups: {dp: all}
programs:
  - on: 0
    do:
      - {all_reduce: dp, bytes: 1MiB, at: "60"}
      - {all_reduce: dp, bytes: 1MiB, at: "66"}
      - {all_reduce: dp, bytes: 1MiB, at: "70"}
  - on: 1
    do:
      - {all_reduce: dp, bytes: 1MiB, at: "60"}
      - {all_reduce: dp, bytes: 1MiB, at: "70"}
)")) == "66#1");
  // Without common lines, calls are matched in order, so the last call is the missing one.
  CHECK(missing(explanation_of(R"(schema: 1
ranks: 2
groups: {dp: all}
programs:
  - {on: 0, do: [{all_reduce: dp, at: "a1"}, {all_reduce: dp, at: "a2"}, {all_reduce: dp, at: "a3"}]}
  - {on: 1, do: [{all_reduce: dp, at: "b1"}, {all_reduce: dp, at: "b2"}]}
)")) == "a3#1");
}

// Ops after the first pending op of a stream wait for this op, wherever they are in the file.
TEST_CASE("a stream stands at the first op that it has not done", "[models][explain]") {
  const Explanation found = explanation_of(R"(schema: 1
reading: real
ranks: 3
groups: {dp: all}
programs:
  do:
    - repeat: 2
      do:
        - {compute: forward, takes: 1ms}
        - {all_reduce: dp, bytes: 4B, takes: 1us, when: rank < 2}
        - {compute: step, takes: 1ms, after: [nccl dp]}
    - {synchronize: device}
)");
  REQUIRE(found.ranks.size() == 3);
  REQUIRE(found.ranks[0].progress.size() == 3);
  const models::Progress& main = found.ranks[0].progress[0];
  CHECK(viz::progress_text(found.ranks[0], main) ==
        "6 of 7 calls returned, now in synchronize device#1");
  const models::Progress& compute = found.ranks[0].progress[1];
  CHECK(compute.what == "compute");
  CHECK(compute.done == 1);
  REQUIRE(compute.stuck.has_value());
  CHECK(compute.stuck->name == "step");
  CHECK(compute.stuck->number == 1);
}
