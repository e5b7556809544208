// Every picture of jobs of every size: its dimensions and legibility.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/scenario.hpp"
#include "tests/support/svg.hpp"

using namespace pipesim;
using testing::command;
using testing::contains;

namespace {

struct Job {
  std::string name;
  std::vector<std::string> arguments;
  bool has_memory = true;
};

std::vector<Job> jobs() {
  const auto job = [](const std::string& size, const std::string& skips) {
    std::vector<std::string> arguments = {"tests/pictures/job.yaml"};
    if (size == "512")
      arguments.insert(arguments.end(), {"--set", "pipeline=8", "--set", "data=8"});
    if (!skips.empty()) arguments.insert(arguments.end(), {"--set", "skips=" + skips});
    return arguments;
  };
  return {
      {"swin", {"scenarios/swin_2x2x2.yaml"}},
      {"swin from a model", {"scenarios/swin_2x2x2_from_model.yaml"}},
      {"1f1b 8 x 16",
       {"scenarios/pipeline_1f1b.yaml", "--set", "stages=8", "--set", "micro_batches=16"}},
      {"1f1b 64 x 128",
       {"scenarios/pipeline_1f1b.yaml", "--set", "stages=64", "--set", "micro_batches=128"}},
      {"1f1b 512 x 32",
       {"scenarios/pipeline_1f1b.yaml", "--set", "stages=512", "--set", "micro_batches=32"}},
      {"interleaved 4 x 2", {"scenarios/pipeline_interleaved.yaml"}},
      {"zb-v", {"scenarios/pipeline_zero_bubble.yaml", "--set", "kind=zbv"}},
      {"dualpipe 8", {"tests/pictures/dualpipe.yaml"}},
      {"64 ranks", job("64", ""), false},
      {"512 ranks", job("512", ""), false},
      {"64 ranks, a call is missing", job("64", "5"), false},
      {"512 ranks, a call is missing", job("512", "5"), false},
      {"two cycles", {"tests/pictures/two_cycles.yaml"}, false},
      {"two cycles of 64 ranks",
       {"tests/pictures/two_cycles.yaml", "--set", "job_ranks=64"},
       false},
  };
}

std::string drawn(const std::vector<std::string>& arguments, const std::string& what,
                  const std::string& ending, std::vector<std::string> more = {}) {
  const testing::Folder folder;
  const std::string path = folder / ("picture." + ending);
  std::vector<std::string> all = {"draw", "--what", what, "-o", path};
  all.insert(all.end(), arguments.begin(), arguments.end());
  all.insert(all.end(), more.begin(), more.end());
  const auto result = command(all);
  CAPTURE(result.err);
  REQUIRE(result.code == 0);
  return testing::file_text(path);
}

// Returns the smallest font size in pixels. Graphviz scales a picture as a whole to fit a page, and
// measures in points.
double smallest_letters(const std::string& svg) {
  double smallest = 1000;
  for (const testing::SvgText& text : testing::texts_of(svg)) {
    smallest = std::min(smallest, (text.bottom - text.top) / 0.7);
  }
  constexpr const char* kScale = "transform=\"scale(";
  const std::size_t scale = svg.find(kScale);
  if (scale == std::string::npos) return smallest;
  constexpr double kPixelsPerPoint = 4.0 / 3.0;
  return smallest * kPixelsPerPoint *
         std::stod(svg.substr(scale + std::string_view(kScale).size()));
}

// Returns the big-endian integer at `at` in a PNG.
std::uint32_t number_at(const std::string& png, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = at; i < at + 4; ++i)
    value = value * 256 + static_cast<unsigned char>(png[i]);
  return value;
}

}  // namespace

TEST_CASE("no picture is larger than a page, and no text covers another", "[app][draw]") {
  for (const Job& job : jobs()) {
    for (const std::string what : {"timeline", "wait-for", "tasks", "stages", "memory"}) {
      if (what == "memory" && !job.has_memory) continue;
      CAPTURE(job.name, what);
      const std::string png = drawn(job.arguments, what, "png");
      CHECK(number_at(png, 16) <= 2400);
      CHECK(number_at(png, 20) <= 3200);
      const std::string svg = drawn(job.arguments, what, "svg");
      CHECK_FALSE(testing::texts_of(svg).empty());
      CHECK(testing::overlaps_in(svg) == std::vector<std::string>{});
      CHECK(smallest_letters(svg) > 7.99);
    }
  }
}

TEST_CASE("chunks and directions have colours of their own", "[app][draw]") {
  const std::string chunks = drawn({"scenarios/pipeline_interleaved.yaml"}, "timeline", "svg");
  for (const std::string text :
       {">forward, chunk 0<", ">forward, chunk 1<", ">backward, chunk 1<", "fill=\"#5aa9dd\"",
        "fill=\"#b3daf4\"", "fill=\"#fdebc8\"", "bubble 15.8 %"}) {
    CAPTURE(text);
    CHECK(contains(chunks, text));
  }
  const std::string ways = drawn({"tests/pictures/dualpipe.yaml"}, "timeline", "svg");
  CHECK(contains(ways, ">forward, pipeline 1<"));
  CHECK(contains(ways, ">weight gradient, pipeline 0<"));
  const std::string one = drawn({"scenarios/pipeline_1f1b.yaml"}, "timeline", "svg");
  CHECK(contains(one, ">forward<"));
  CHECK_FALSE(contains(one, "chunk"));
  // The bubble is 3 x 6 ms of 66 ms.
  CHECK(contains(one, "bubble 27.3 %"));
}

TEST_CASE("a timeline shows a part, as wide as asked, on a dark page", "[app][draw]") {
  const std::vector<std::string> scenario = {"scenarios/pipeline_1f1b.yaml"};
  const std::string part =
      drawn(scenario, "timeline", "svg", {"--from", "20ms", "--to", "30ms", "--width", "1200"});
  CHECK(contains(part, "width=\"900\""));
  CHECK(contains(part, ">20 ms<"));
  CHECK(contains(part, ">30 ms<"));
  CHECK_FALSE(contains(part, ">60 ms<"));
  CHECK_FALSE(contains(part, "<title>0F0:"));  // 0F0 runs from 0 to 2 ms
  CHECK(number_at(drawn(scenario, "timeline", "png", {"--width", "1200"}), 16) == 1200);
  for (const std::string what : {"timeline", "wait-for", "tasks", "stages", "memory"}) {
    const std::string light = drawn({"scenarios/swin_2x2x2.yaml"}, what, "svg");
    const std::string dark = drawn({"scenarios/swin_2x2x2.yaml"}, what, "svg", {"--dark"});
    CAPTURE(what);
    CHECK(contains(dark, "\"#0d1117\""));
    CHECK_FALSE(contains(light, "\"#0d1117\""));
    // In the dark picture, the command in the footer can need one more line.
    const std::size_t texts = testing::texts_of(light).size();
    CHECK(testing::texts_of(dark).size() >= texts);
    CHECK(testing::texts_of(dark).size() <= texts + 1);
  }
}

// Text beyond the edge would widen a PNG and be clipped in an SVG.
TEST_CASE("a narrow timeline holds its texts, and a mouse shows what is cut", "[app][draw]") {
  for (const std::string scenario :
       {"scenarios/swin_2x2x2.yaml", "scenarios/pipeline_1f1b.yaml", "tests/pictures/job.yaml"}) {
    for (const std::string width : {"700", "1000"}) {
      CAPTURE(scenario, width);
      const std::vector<std::string> style = {"--width", width};
      CHECK(std::to_string(number_at(drawn({scenario}, "timeline", "png", style), 16)) == width);
      const std::string svg = drawn({scenario}, "timeline", "svg", style);
      CHECK(testing::overlaps_in(svg) == std::vector<std::string>{});
      for (const testing::SvgText& text : testing::texts_of(svg)) {
        CAPTURE(text.text);
        CHECK(text.left >= 0);
        CHECK(text.right <= std::stod(width) * 0.75 + 1);
      }
    }
  }
  const std::string svg =
      drawn({"scenarios/swin_2x2x2.yaml"}, "timeline", "svg", {"--width", "700"});
  CHECK(contains(svg, "<title>nccl-1998#3 waits for rank 1 to join</title>"));
  CHECK_FALSE(contains(svg, ">nccl-1998#3 waits for rank 1 to join</text>"));
}

TEST_CASE("the rank that others wait for in vain is marked", "[app][draw]") {
  const std::string svg = drawn({"tests/pictures/job.yaml", "--set", "skips=5"}, "timeline", "svg");
  CHECK(contains(svg, ">rank 5 never joins<"));
}

TEST_CASE("memory has a scale, weights below, and a limit", "[app][draw]") {
  const std::string svg =
      drawn({"scenarios/pipeline_1f1b.yaml"}, "memory", "svg", {"--limit", "16GiB"});
  // Weights take 12 GiB, and each activation 2 GiB: rank 0 has 4 activations, rank 3 has 1.
  for (const std::string text : {">peak 20 GiB<", ">peak 14 GiB<", ">limit 16 GiB<",
                                 ">4 GiB too much<", ">10 GiB<", "12 GiB all the time"}) {
    CAPTURE(text);
    CHECK(contains(svg, text));
  }
  CHECK(
      command({"draw", "scenarios/pipeline_1f1b.yaml", "-o", "never.svg", "--limit", "16"}).code ==
      2);
}

TEST_CASE("the first wait is on top, and cycles stand side by side", "[app][draw]") {
  const std::string svg = drawn({"tests/pictures/two_cycles.yaml"}, "wait-for", "svg");
  double first = 0;
  double second = 0;
  double last = 0;
  for (const testing::SvgText& text : testing::texts_of(svg)) {
    if (text.text == "all_reduce a#1") first = text.bottom;
    if (text.text == "all_reduce c#1") second = text.bottom;
    if (text.text.starts_with("4: its host")) last = text.bottom;
  }
  CHECK(first == second);
  CHECK(first < last);  // y grows downward
  CHECK(contains(svg, "2.1: waits for rank 3"));
  // The timeline has nine red frames for the two cycles: a host thread and a stream of each of four
  // ranks, and the legend.
  const std::string timeline = drawn({"tests/pictures/two_cycles.yaml"}, "timeline", "svg");
  std::size_t frames = 0;
  for (std::size_t at = 0;
       (at = timeline.find("stroke=\"#c1121f\" stroke-width=\"2.0\"", at)) != std::string::npos;
       ++at) {
    ++frames;
  }
  CHECK(frames == 9);
  CHECK(contains(timeline, "the first of 2 cycles: 4 waits, ranks 0 and 1"));
  const std::string many =
      drawn({"tests/pictures/two_cycles.yaml", "--set", "job_ranks=64"}, "wait-for", "svg");
  CHECK(contains(many, ">x 60 ranks<"));
}

TEST_CASE("a box of stages shows the members of its groups, and no line is cut", "[app][draw]") {
  const std::string swin = drawn({"scenarios/swin_2x2x2.yaml"}, "stages", "svg");
  for (const std::string text : {">all_gather tp (0-1; 2-3)<", ">all_gather tp (4-5; 6-7)<",
                                 ">all_reduce dp (4, 6; 5, 7)<"}) {
    CAPTURE(text);
    CHECK(contains(swin, text));
  }
  const std::string many = drawn(
      {"tests/pictures/job.yaml", "--set", "skips=5", "--set", "pipeline=8", "--set", "data=8"},
      "stages", "svg");
  CHECK(contains(many, ">all_reduce data<"));
  CHECK(contains(many, ">(8 groups of 8)<"));
  CHECK(contains(many, ">to ranks 64-127:<"));
  CHECK(contains(many, ">4 x 16 MiB<"));
}

TEST_CASE("a task of some ranks is dashed, since red means a hang", "[app][draw]") {
  const std::string tasks = drawn({"scenarios/swin_2x2x2.yaml"}, "tasks", "dot");
  CHECK(contains(tasks, "only ranks 1-3"));
  CHECK(contains(tasks, "filled,dashed"));
  CHECK_FALSE(contains(tasks, "#c1121f"));
}

TEST_CASE("sizes in stages have the unit of the file", "[app][draw]") {
  const testing::Folder folder;
  const std::string file = folder.write("sizes.yaml", R"(schema: 1
ranks: 2
groups: {all: all}
programs:
  - {on: 0, do: [{send: all, to: 1, bytes: 24MB}]}
  - {on: 1, do: [{recv: all, from: 0, bytes: 24MB}]}
)");
  const std::string picture = folder / "stages.svg";
  REQUIRE(command({"draw", file, "--what", "stages", "-o", picture}).code == 0);
  CHECK(contains(testing::file_text(picture), ">24 MB<"));
}
