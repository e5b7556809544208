// Pictures of boxes and texts: their parts have the right positions, and no text covers another.
#include "viz/pictures/scene.hpp"

#include <regex>
#include <string>
#include <vector>

#include "models/result/timeline.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"
#include "tests/support/svg.hpp"
#include "viz/pictures/lanes.hpp"
#include "viz/pictures/pictures.hpp"
#include "viz/pictures/stage_grid.hpp"

using namespace pipesim;
using namespace pipesim::viz;

namespace {

struct Drawn {
  models::TaskGraph graph;
  models::Simulation run;

  explicit Drawn(models::TaskGraph of) : graph(std::move(of)) {
    sim::RunOptions options;
    options.keep_op_times = true;
    run = testing::simulate(graph, options);
  }

  std::string timeline() const {
    return draw_timeline(graph, run, models::timeline(graph, run), {}).svg();
  }
};

}  // namespace

TEST_CASE("no text of a timeline covers another", "[viz][scene][scenario]") {
  std::size_t looked_at = 0;
  for (const std::string& path : testing::scenario_paths()) {
    CAPTURE(path);
    const Drawn drawn(testing::load(path).graph);
    const std::string svg = drawn.timeline();
    looked_at += testing::texts_of(svg).size();
    CHECK(testing::overlaps_in(svg).empty());
  }
  CHECK(looked_at > 500);
}

TEST_CASE("an op is as long as it takes", "[viz][scene]") {
  const Drawn drawn(testing::scenario_of("schema: 1\nstreams: {s: {}}\nactors:\n"
                                         "  a: {stream: s, source: 1, takes: 10us}\n"
                                         "  b: {stream: s, reads: [a], takes: 30us}\n")
                        .graph);
  const std::string svg = drawn.timeline();
  static const std::regex kBox(
      R"re(<title>(\w)[^<]*</title><rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)")re");
  std::vector<std::string> names;
  std::vector<double> left;
  std::vector<double> width;
  for (std::sregex_iterator i(svg.begin(), svg.end(), kBox), end; i != end; ++i) {
    names.push_back((*i)[1]);
    left.push_back(std::stod((*i)[2]));
    width.push_back(std::stod((*i)[4]));
  }
  REQUIRE(names == std::vector<std::string>{"a", "b"});
  CHECK_THAT(width[1], Catch::Matchers::WithinRel(3 * width[0], 0.001));
  CHECK_THAT(left[1], Catch::Matchers::WithinRel(left[0] + width[0], 0.001));
  CHECK(svg.find("COMPLETED at 40 us") != std::string::npos);
}

TEST_CASE("a timeline says what hangs, where and why", "[viz][scene]") {
  const Drawn drawn(testing::load("scenarios/swin_2x2x2.yaml").graph);
  const std::string svg = drawn.timeline();
  const auto has = [&](const std::string& text) { return svg.find(text) != std::string::npos; };
  CHECK(has("swin_2x2x2: DEADLOCK at 43.6 us"));
  CHECK(has("43.6 us: no further progress"));
  CHECK(has("the cycle: 10 waits, ranks 0 and 1, micro-batches 1 to 3"));
  CHECK(has("nccl-1998#3 waits for rank 1 to join"));
  CHECK(has("ranks 2-3"));  // ranks with the same ops share a row
}

TEST_CASE("an error about overlapping actions names both", "[viz][scene]") {
  // Each slot except the first and the last has the forward of a micro-batch and the backward of
  // the previous micro-batch. With more slots, each has less space.
  const auto drawn_with = [](int micro_batches) {
    std::string row = "0F0";
    for (int i = 1; i < micro_batches; ++i) {
      row += ",(0F" + std::to_string(i) + ";0B" + std::to_string(i - 1) + ")OVERLAP_F_B";
    }
    row += ",0B" + std::to_string(micro_batches - 1);
    return Drawn(testing::scenario_of("schema: 1\nschedule:\n  forward: 1ms\n  rows: [\"" + row +
                                      "\"]\n")
                     .graph)
        .timeline();
  };
  CHECK(drawn_with(2).find(">(0F1;0B0)OVERLAP_F_B<") != std::string::npos);
  CHECK(drawn_with(12).find(">0F1 0B0<") != std::string::npos);
  CHECK(drawn_with(40).find(">1+0<") != std::string::npos);
}

TEST_CASE("ranks that differ are not folded", "[viz][scene]") {
  const Drawn drawn(
      testing::scenario_of("schema: 1\nranks: 3\nstreams: {s: {}}\nactors:\n"
                           "  a: {stream: s, source: 1, takes: {case: rank, 1: 2us, else: 1us}}\n")
          .graph);
  const std::string svg = drawn.timeline();
  CHECK(svg.find("ranks 0, 2") != std::string::npos);
  CHECK(svg.find("rank 1") != std::string::npos);
}

TEST_CASE("memory over time rises with a launch and falls with the last read", "[viz][scene]") {
  // `a` fills its slot at 0 us; `b` returns the slot at its end, at 10 + 5 us.
  const Drawn drawn(testing::scenario_of("schema: 1\nstreams: {s: {}}\nactors:\n"
                                         "  a: {stream: s, source: 1, takes: 10us, bytes: "
                                         "1MiB}\n"
                                         "  b: {stream: s, reads: [a], takes: 5us, messages: "
                                         "gated}\n"
                                         "  c: {stream: s, reads: [b], takes: 5us}\n")
                        .graph);
  const models::MemoryUse use =
      models::memory_over_time(drawn.graph, drawn.run.lowered, drawn.run.outcome);
  CHECK(use.in_bytes);
  REQUIRE(use.ranks.size() == 1);
  const std::vector<models::MemoryStep> expected = {{0, 1 << 20}, {15'000, 0}};
  CHECK(use.ranks[0] == expected);
}

TEST_CASE("loops are found in what is done one after the other", "[viz][lanes]") {
  // The row has two forwards, then three times a forward and a backward, then a backward.
  const std::vector<Repeat> found = find_repeats({7, 7, 1, 2, 1, 2, 1, 2, 9});
  REQUIRE(found.size() == 3);
  CHECK(found[0].times == 2);
  CHECK(found[0].period == 1);
  CHECK(found[1].first == 2);
  CHECK(found[1].times == 3);
  CHECK(found[1].period == 2);
  CHECK(found[2].parts.empty());
  CHECK(found[2].first == 8);
  // The row is a nested loop.
  const std::vector<Repeat> nested = find_repeats({1, 1, 1, 2, 1, 1, 1, 2});
  REQUIRE(nested.size() == 1);
  CHECK(nested[0].times == 2);
  REQUIRE(nested[0].parts.size() == 2);
  CHECK(nested[0].parts[0].times == 3);
  CHECK(find_repeats({}).empty());
}

TEST_CASE("places of a pipeline share a column where they are equal and many", "[viz][stages]") {
  using Columns = std::vector<std::pair<std::size_t, std::size_t>>;
  const auto always = [](std::size_t, std::size_t) { return true; };
  const auto never = [](std::size_t, std::size_t) { return false; };
  CHECK(stage_columns(3, true, always) == Columns{{0, 1}, {1, 2}, {2, 3}});
  CHECK(stage_columns(64, true, always) == Columns{{0, 1}, {1, 2}, {2, 62}, {62, 63}, {63, 64}});
  CHECK(stage_columns(64, true, never).size() == 64);
  CHECK(stage_columns(500, true, never).size() <= kMaxStageColumns);
  CHECK(stage_columns(500, false, always).size() == 500);
}
