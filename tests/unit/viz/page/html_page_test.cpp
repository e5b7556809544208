// The content of pages. tests/tools/html_test.py tests pages in a browser.
#include "viz/page/html_page.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "app/output/views.hpp"
#include "models/result/timeline.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/inline_scenario.hpp"

using namespace pipesim;
using testing::command;
using testing::contains;
using testing::Folder;
using Json = nlohmann::json;

namespace {

struct Made {
  models::TaskGraph graph;
  models::Simulation run;
  viz::Report report;
  models::Timeline timeline;

  explicit Made(models::TaskGraph of)
      : graph(std::move(of)),
        run(simulate()),
        report(app::report_of_end(graph, run, true)),
        timeline(models::timeline(graph, run)) {}
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;

  models::Simulation simulate() const {
    sim::RunOptions options;
    options.keep_op_times = true;
    return testing::simulate(graph, options);
  }

  Json data(const viz::PageLimits& limits = {}) const {
    return Json::parse(viz::html_page_data(report, run, timeline, limits));
  }
  std::string page(bool unfold = false, const viz::PageLimits& limits = {}) const {
    return viz::html_page(report, run, timeline, unfold, limits);
  }
};

Made made(const std::string& text) { return Made(testing::scenario_of(text).graph); }

// Returns the op to which an index in the page data refers, as "a#1".
std::string op_of(const Json& data, const Json& number) {
  const Json& op = data["acts"][number.get<std::size_t>()];
  return data["words"][op[0].get<std::size_t>()].get<std::string>() + "#" +
         std::to_string(op[1].get<int>());
}

std::vector<std::string> left_out(const Json& data, const std::string& where) {
  std::vector<std::string> texts;
  for (const Json& item : data["left_out"]) {
    if (item["where"] == where) texts.push_back(item["text"]);
  }
  return texts;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

// Rank 0 arrives at 1 us, rank 1 at 30 us. Rank 0 waits in between, and both work for 5 us.
constexpr const char* kUnevenRanks =
    "schema: 1\nname: uneven\nranks: 2\ngroups: {tp: all}\nstreams: {s: {}}\nactors:\n"
    "  a: {stream: s, source: 1, takes: {case: rank, 0: 1us, else: 30us}}\n"
    "  g: {stream: s, reads: [a], takes: 5us, collective: {all_reduce: tp}}\n";

// Each rank sends first, and no send ends before its recv; the all_reduce is queued behind both.
constexpr const char* kCycle =
    "schema: 1\nname: circle\nreading: contract\nranks: 2\ngroups: {g: all}\nprograms:\n"
    "  - {on: all, do: [{send: g, to: 1 - rank, bytes: 8B}, {recv: g, from: 1 - rank, bytes: 8B}, "
    "{all_reduce: g, bytes: 8B}]}\n";

// Returns a scenario of `ranks` ranks with three ops each.
std::string three_ops_on(int ranks) {
  return "schema: 1\nranks: " + std::to_string(ranks) +
         "\nstreams: {s: {}}\nactors: {a: {stream: s, source: 3, takes: 1us}}\n";
}

}  // namespace

TEST_CASE("slices on a page begin, wait and end when ops do", "[viz][html]") {
  const Made of = made(kUnevenRanks);
  const Json data = of.data();
  CHECK(data["verdict"] == "completed");
  CHECK(data["end_ns"] == 35'000);
  REQUIRE(data["lanes"].size() == 2);
  const Json& slices = data["lanes"][0]["slices"];
  REQUIRE(slices.size() == 2);
  CHECK(op_of(data, slices[0][0]) == "a#1");
  // A slice has its start, the time until the peers arrive, its length including this wait, and
  // whether the op is done.
  CHECK(std::vector<int>(slices[0].begin() + 1, slices[0].begin() + 5) ==
        std::vector<int>{0, 0, 1'000, 1});
  CHECK(op_of(data, slices[1][0]) == "g#1");
  CHECK(std::vector<int>(slices[1].begin() + 1, slices[1].begin() + 5) ==
        std::vector<int>{1'000, 29'000, 34'000, 1});
  CHECK(data["waits"].empty());
  CHECK(data["left_out"].empty());
}

TEST_CASE("the waits of the cycle come first on a page, in its order", "[viz][html]") {
  const Made of = made(kCycle);
  const Json data = of.data();
  const std::size_t length = of.run.explanation.cycle.size();
  REQUIRE(length >= 2);
  REQUIRE(data["waits"].size() == of.report.all_waits.size());
  for (std::size_t i = 0; i < length; ++i) {
    const Json& wait = data["waits"][i];
    CHECK(wait[5] == i + 1);
    // The target of each wait is the start of the next wait.
    CHECK(wait[1] == data["waits"][(i + 1) % length][0]);
  }
  for (std::size_t i = length; i < data["waits"].size(); ++i) CHECK(data["waits"][i][5] == 0);
  CHECK(contains(data["story"].dump(), "wait for each other in a cycle"));
}

TEST_CASE("a page is whole: it names no address, and what is put in ends no element",
          "[viz][html]") {
  const Made of = made(
      "schema: 1\nname: \"</script><b>\\u2028{{title}}\"\nstreams: {s: {}}\nactors:\n"
      "  \"<!--<script>\": {stream: s, source: 1, takes: 1us}\n");
  const std::string page = of.page();
  CHECK(page.rfind("<!DOCTYPE html>", 0) == 0);
  // The page contains its own scripts and the data, and no script from the scenario.
  CHECK(count_of(page, "<script") == 7);
  CHECK(count_of(page, "</script>") == 7);
  CHECK(count_of(page, "<!--") == 1);  // the page's own comment
  CHECK_FALSE(contains(page, "://"));
  // A placeholder in a scenario's text stays text.
  CHECK(contains(page, "<title>&lt;/script&gt;&lt;b&gt;"));
  CHECK(of.data()["name"] == "</script><b>\xe2\x80\xa8{{title}}");
  CHECK_FALSE(contains(viz::html_page_data(of.report, of.run, of.timeline), "\xe2\x80\xa8"));
  CHECK(page == of.page());
}

TEST_CASE("a page has every rank, those of the hang op by op, and says what is left out",
          "[viz][html]") {
  const Made of = made(three_ops_on(10));
  viz::PageLimits limits;
  limits.slices = 7;  // all three ops of two ranks, one from each end
  limits.parts = 16;  // two parts for each other rank
  const Json data = of.data(limits);
  REQUIRE(data["lanes"].size() == 10);
  for (std::size_t rank = 0; rank < 10; ++rank) {
    const Json& slices = data["lanes"][rank]["slices"];
    CHECK(data["lanes"][rank]["rank"] == rank);
    CHECK(slices.size() == (rank == 0 || rank == 9 ? 3 : 2));
  }
  // A part from 0 to 2 us stands for two ops; the slice from 2 to 3 us is a single op.
  const Json& slices = data["lanes"][4]["slices"];
  CHECK(slices[0].size() == 8);
  CHECK(slices[0][7] == 2);
  CHECK(slices[0][3] == 2'000);
  CHECK(slices[1].size() == 6);
  CHECK(slices[1][1] == 2'000);
  REQUIRE(left_out(data, "timeline").size() == 1);
  CHECK(contains(left_out(data, "timeline")[0], "2 of 10 ranks"));

  // Ranks 8 and 9 hang. Although the limit is only 4 slices, the page has the lanes of all ranks.
  const Made hang = made(
      "schema: 1\nranks: 10\ngroups: {g: [8, 9]}\nprograms:\n"
      "  - {on: [0, 1, 2, 3, 4, 5, 6, 7], do: [{compute: k, takes: 1us}, {compute: l, takes: "
      "1us}]}\n"
      "  - {on: [8, 9], do: [{compute: m, takes: 1us}, {send: g, to: 17 - rank, bytes: 8B}, "
      "{recv: g, from: 17 - rank, bytes: 8B}]}\n");
  limits.slices = 4;
  const Json shown = hang.data(limits);
  std::vector<int> ranks;
  for (const Json& lane : shown["lanes"]) {
    if (ranks.empty() || ranks.back() != lane["rank"]) ranks.push_back(lane["rank"]);
  }
  CHECK(ranks == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
}

TEST_CASE("a page has the chunks, the idle time and the guilty ranks of the picture",
          "[viz][html]") {
  const Made chunks = made(
      "schema: 1\nname: chunks\nschedule: {kind: interleaved_1f1b, stages: 4, chunks: 2, "
      "micro_batches: 4, forward: 1ms, input_grad: 1ms, weight_grad: 1ms}\n");
  const Json data = chunks.data();
  std::vector<std::string> names;
  for (const Json& shade : data["shades"]) names.push_back(shade[2]);
  CHECK(names == std::vector<std::string>{"forward, chunk 0", "forward, chunk 1",
                                          "backward, chunk 0", "backward, chunk 1", "message",
                                          "host"});
  CHECK(data["idle"].get<std::string>().rfind("bubble ", 0) == 0);
  CHECK(data["guilty"].empty());

  const Made hang = made(
      "schema: 1\nreading: contract\nranks: 3\ngroups: {tp: all}\nprograms:\n  do:\n"
      "    - {on: [0, 2], do: [{all_reduce: tp, takes: 1us}]}\n");
  CHECK(hang.data()["guilty"] == Json::parse(R"([[1, "rank 1 never joins"]])"));
  CHECK(hang.data()["idle"] == "");
}

TEST_CASE("of a rank that is too much for a page, the ends of its lanes are there", "[viz][html]") {
  const Made of =
      made("schema: 1\nstreams: {s: {}}\nactors: {a: {stream: s, source: 100, takes: 1us}}\n");
  viz::PageLimits limits;
  limits.slices = 50;
  const Json data = of.data(limits);
  REQUIRE(data["lanes"].size() == 1);
  const Json& slices = data["lanes"][0]["slices"];
  REQUIRE(slices.size() == 5);
  CHECK(op_of(data, slices[4][0]) == "a#100");
  CHECK(contains(left_out(data, "timeline").at(0), "the last 5 ops"));
}

TEST_CASE("a page has a maximum of waits and rows", "[viz][html]") {
  const Made of = made(kCycle);
  viz::PageLimits limits;
  limits.waits = of.run.explanation.cycle.size();
  limits.rows = 1;
  REQUIRE(of.report.all_waits.size() > limits.waits);
  const Json data = of.data(limits);
  CHECK(data["waits"].size() == limits.waits);
  CHECK(left_out(data, "waits").size() == 1);
  CHECK(left_out(data, "ranks").size() == 1);
  for (const Json& table : data["tables"]) CHECK(table["rows"].size() <= 1);
}

TEST_CASE("a wait-for graph that nobody can read is folded, or else left out of a page",
          "[viz][html]") {
  const Made of = made(kCycle);
  CHECK(contains(of.page(), "<svg"));
  viz::PageLimits limits;
  limits.graph_nodes = 1;
  const std::string page = of.page(false, limits);
  CHECK_FALSE(contains(page, "class=\"graph\""));
  CHECK(contains(page, "The wait-for graph is left out"));
}

TEST_CASE("a page is small, and leaves the report as it is", "[viz][html][app]") {
  const Folder folder;
  const std::string hang = "scenarios/swin_2x2x2.yaml";
  const testing::CommandResult run = command({"run", hang, "--html", folder / "a.html"});
  CHECK(run.code == 1);
  CHECK(run.out == command({"run", hang}).out);
  CHECK(testing::file_text(folder / "a.html").size() < 1'000'000);
}

TEST_CASE("every scenario has a page, and prints what it prints without", "[viz][html][app]") {
  const Folder folder;
  for (const std::string& path : testing::scenario_paths()) {
    INFO(path);
    const std::string page = folder / "page.html";
    const testing::CommandResult with = command({"run", path, "--html", page});
    const testing::CommandResult without = command({"run", path});
    CHECK(with.code == without.code);
    CHECK(with.out == without.out);
    CHECK(with.err == without.err);
    CHECK(std::filesystem::file_size(page) < 1'000'000);
  }
}

TEST_CASE("a page is written whatever is printed", "[viz][html][app]") {
  const Folder folder;
  const std::string hang = "scenarios/swin_2x2x2.yaml";
  for (const std::vector<std::string>& printed : {std::vector<std::string>{"--log", "-"},
                                                  {"--trace", "-"},
                                                  {"--stacks"},
                                                  {"--json"},
                                                  {"--timeline"}}) {
    std::vector<std::string> arguments = {"run", hang};
    arguments.insert(arguments.end(), printed.begin(), printed.end());
    const std::string without = command(arguments).out;
    const std::string path = folder / (printed.front() + ".html");
    arguments.insert(arguments.end(), {"--html", path});
    CHECK(command(arguments).out == without);
    CHECK(contains(testing::file_text(path), "<h1"));
  }
}

TEST_CASE("a page that cannot be written is an error of the file", "[viz][html][app]") {
  const Folder folder;
  const testing::CommandResult result =
      command({"run", "scenarios/swin_2x2x2.yaml", "--html", folder / "no/such/folder/a.html"});
  CHECK(result.code == 74);
  CHECK(contains(result.err, "no/such/folder"));
}
