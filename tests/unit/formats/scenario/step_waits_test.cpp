// Steps that wait for other streams, steps that run again, and numbers of steps.
#include <string>

#include "formats/scenario/scenario_writer.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"

using namespace pipesim;
using models::Explanation;
using sim::Verdict;
using testing::explanation_of;

namespace {

const std::string kTwoRanks = "schema: 1\nranks: 2\ngroups: {g: all}\n";

std::string text_of(const std::string& steps) {
  return kTwoRanks + "programs: {do: [" + steps + "]}\n";
}

std::string mistakes(const std::string& steps) { return testing::mistakes_in(text_of(steps)); }

std::int64_t time_of_steps(const std::string& steps) {
  const Explanation found = explanation_of(text_of(steps));
  CHECK(found.verdict == Verdict::kCompleted);
  return found.time_ns;
}

}  // namespace

TEST_CASE("a step may stay behind a stream", "[formats][step_waits]") {
  // In parallel, the steps take 5 us. With `behind: compute`, b takes 2 us more. Later ops on
  // stream `compute` do not count.
  CHECK(time_of_steps("{compute: a, takes: 5us}, {compute: b, takes: 2us, stream: s}") == 5'000);
  CHECK(time_of_steps(
            "{compute: a, takes: 5us}, {compute: b, takes: 2us, stream: s, behind: compute}, "
            "{compute: c, takes: 1us}") == 7'000);
  CHECK(mistakes("{compute: b, behind: s}") ==
        "4:38: no step uses stream 's'\n  known here: compute\n");
}

TEST_CASE("a step may wait for an op of another", "[formats][step_waits]") {
  // b waits for a (4 us), not for later ops on a's stream.
  CHECK(time_of_steps("{compute: a, takes: 4us}, {compute: c, takes: 9us}, "
                      "{compute: b, takes: 1us, stream: s, waits_for: [a]}, "
                      "{compute: d, takes: 7us, stream: s}") == 13'000);
  CHECK(time_of_steps("{compute: a, takes: 4us}, {compute: c, takes: 9us}, "
                      "{compute: b, takes: 1us, stream: s, waits_for: [c]}, "
                      "{compute: d, takes: 7us, stream: s}") == 21'000);
  // b waits for the second of three ops of a, 4 us each: 8 + 3.
  CHECK(time_of_steps("{compute: a, takes: 4us}, {again: a}, "
                      "{compute: b, takes: 3us, stream: s, waits_for: [{step: a, ahead: 1}]}") ==
        11'000);
}

TEST_CASE("a step that waits for a later one hangs", "[formats][step_waits]") {
  const Explanation found = explanation_of(
      text_of("{compute: b, stream: s, waits_for: [a], blocking: on}, {compute: a}"));
  CHECK(found.verdict == Verdict::kDeadlock);
}

TEST_CASE("mistakes of waits have places", "[formats][step_waits]") {
  CHECK(mistakes("{compute: a}, {compute: b, stream: s, waits_for: [aa]}") ==
        "4:67: no step 'aa' is on the ranks of this one\n  did you mean 'a'?\n");
  CHECK(mistakes("{compute: a}, {compute: b, waits_for: [a]}") ==
        "4:31: 'b' waits for 'a', which is not on another stream on rank 0\n");
  CHECK(mistakes("{compute: a}, {compute: b, stream: s, waits_for: [{step: a, ahead: 1}]}") ==
        "4:31: 'b' waits for 2 ops of 'a', which runs 1 times on rank 0\n");
  CHECK(mistakes("{compute: a}, {compute: b, stream: s, waits_for: [{step: a, ahead: -1}]}") ==
        "4:84: 'ahead' must be between 0 and 1073741824, found -1\n");
  CHECK(mistakes("{again: a}, {compute: a}") ==
        "4:25: no step 'a' precedes this one on the same ranks and thread\n");
  CHECK(mistakes("{compute: a, numbers: 3}").find("'numbers' must be [first, step]") !=
        std::string::npos);
  CHECK(mistakes("{compute: a, numbers: [-1, 1]}") ==
        "4:39: numbers of ops must be between 0 and 16777216, found [-1, 1]\n");
}

TEST_CASE("ops with numbers are called by them, and read back", "[formats][step_waits]") {
  const std::string steps =
      "{compute: f, numbers: [7, -1], takes: 1us}, "
      "{send: g, to: 1 - rank, tag: x, tag_numbers: [7, -1], name: s, numbers: [7, -1], behind: "
      "compute}, {again: f}, {again: s}, "
      "{recv: g, from: 1 - rank, tag: x, tag_numbers: [7, -1]}, {again: recv g}";
  const models::TaskGraph graph = testing::scenario_of(text_of(steps)).graph;
  CHECK(models::op_name(graph.actors[0], 1).name == "f6");
  CHECK(models::op_name(graph.actors[0], 1).number == 1);
  CHECK(models::find_op(graph.actors[0], 2, {"f7", 1}) == 0);
  CHECK(models::find_op(graph.actors[0], 2, {"f8", 1}) == models::kNoIndex);
  CHECK(models::find_op(graph.actors[0], 2, {"f", 1}) == models::kNoIndex);
  const std::string written = formats::write_scenario(graph);
  CHECK(models::without_places(testing::scenario_of(written).graph) ==
        models::without_places(graph));
}

TEST_CASE("kernels have clusters of CTAs, of which the CTAs are a multiple",
          "[formats][step_waits]") {
  const auto device = [](const std::string& steps) {
    return kTwoRanks + "device: {sms: 16}\nprograms: {do: [" + steps + "]}\n";
  };
  const std::string text =
      device("{compute: a, ctas: 8, cluster: 4}, {all_reduce: g, ctas: 6, cooperative: on}");
  const models::TaskGraph graph = testing::scenario_of(text).graph;
  CHECK(graph.actors[0].step->cluster == 4);
  const std::string written = formats::write_scenario(graph);
  CHECK(models::without_places(testing::scenario_of(written).graph) ==
        models::without_places(graph));
  CHECK(testing::mistakes_in(device("{compute: a, ctas: 10, cluster: 4}")) ==
        "5:17: 'a' has 10 CTAs, which are not a multiple of its clusters of 4\n");
  CHECK(testing::mistakes_in(device("{compute: a, ctas: 8, cluster: 0}")) ==
        "5:48: 'cluster' must be between 1 and 16, found 0\n");
  // Without SMs, CTAs have no effect.
  CHECK(mistakes("{compute: a, ctas: 10, cluster: 4}").empty());
}

TEST_CASE("tags go on with their numbers", "[formats][step_waits]") {
  const auto verdict = [](const std::string& sent, const std::string& received) {
    return explanation_of(
               kTwoRanks +
               "programs:\n  - {on: 0, do: [{send: g, to: 1, tag: x, tag_numbers: " + sent +
               "}, {again: send g}]}\n  - {on: 1, do: [{recv: g, from: 0, tag: x, "
               "tag_numbers: " +
               received + "}, {again: recv g}]}\n")
        .verdict;
  };
  CHECK(verdict("[3, 1]", "[3, 1]") == Verdict::kCompleted);
  CHECK(verdict("[3, 1]", "[3, -1]") == Verdict::kMismatch);
  CHECK(verdict("[3, 0]", "[4, 0]") == Verdict::kMismatch);
}

TEST_CASE("a fault of an op with a number reads back", "[formats][step_waits]") {
  const models::TaskGraph graph =
      testing::scenario_of(
          "schema: 1\nschedule: {kind: 1f1b, stages: 2, micro_batches: 4}\n"
          "faults: [{rank: 1, dies: segfault, act: 1F2}]\n")
          .graph;
  REQUIRE(graph.faults.ranks.size() == 1);
  CHECK(graph.faults.ranks[0].op == 2);
  const models::TaskGraph again = testing::scenario_of(formats::write_scenario(graph)).graph;
  CHECK(again.faults.ranks[0].op == 2);
  CHECK(testing::simulate(again).explanation.fingerprint ==
        testing::simulate(graph).explanation.fingerprint);
}
