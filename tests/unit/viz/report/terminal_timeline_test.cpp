// Timelines in a terminal. Each picture follows from the durations in the scenario above it. The
// length of each run makes a column 1 us wide, so that letters can be counted.
#include "viz/report/terminal_timeline.hpp"

#include <sstream>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/inline_scenario.hpp"

using namespace pipesim;
using testing::contains;

namespace {

std::vector<std::string> lines_of(const std::string& scenario,
                                  const viz::TerminalTimelineOptions& how = {}) {
  const models::TaskGraph graph = testing::scenario_of(scenario).graph;
  sim::RunOptions options;
  options.keep_op_times = true;
  const models::Simulation run = testing::simulate(graph, options);
  std::istringstream text(viz::terminal_timeline(graph, run, models::timeline(graph, run), how));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

// The device runs `a` and `wide` while the host pauses; `x` occurs twice, so its ops are numbered.
TEST_CASE("an op is drawn as long as it takes", "[viz][terminal]") {
  const Lines lines = lines_of(
      "schema: 1\nranks: 1\nprograms:\n  do:\n"
      "    - {compute: a, takes: 2us}\n    - {compute: wide, takes: 18us}\n"
      "    - {host: pause, takes: 30us}\n    - {synchronize: device}\n"
      "    - {repeat: 2, do: [{compute: x, takes: 22us}]}\n");
  REQUIRE(lines.size() == 4);
  const auto dashes = [](std::size_t count) { return std::string(count, '-'); };
  CHECK(lines[0] ==
        "rank  stream       |0        |10 us    |20 us    |30 us    |40 us    |50 us    |60 us    "
        "|70 us");
  CHECK(lines[1] == "0     main (host)  pause" + dashes(30 - 5));
  CHECK(lines[2] == "      compute      a-wide" + dashes(18 - 4) + std::string(10, ' ') + "x#1" +
                        dashes(22 - 3) + "x#2" + dashes(22 - 3));
  CHECK(lines[3] == "One column is 1 us. - goes on.");
}

// Ranks 0 and 2 reach the collective at 10 us and wait for 30 us; then all ranks work for 30 us.
TEST_CASE("a collective waits until its last member comes", "[viz][terminal]") {
  const Lines lines = lines_of(
      "schema: 1\nranks: 3\ngroups: {tp: all}\nstreams: {s: {}}\nactors:\n"
      "  a: {stream: s, source: 1, takes: {case: rank, 1: 40us, else: 10us}}\n"
      "  g: {stream: s, reads: [a], takes: 30us, collective: {all_gather: tp}}\n");
  const std::string work = "g" + std::string(29, '-');
  CHECK(lines[1] == "0, 2  s       a" + std::string(9, '-') + std::string(30, '.') + work);
  CHECK(lines[2] == "1     s       a" + std::string(39, '-') + work);
  CHECK(lines[3] == "One column is 1 us. - goes on, . waits.");
}

// Rank 0 calls tp first, rank 1 calls dp first. Both collectives start to spin at 20 us; the other
// calls never start. The run ends then, so the hang takes no time: its text is only after the bar.
TEST_CASE("what hangs at once is named at the end", "[viz][terminal]") {
  const Lines lines = lines_of(
      "schema: 1\nreading: contract\nranks: 2\ngroups: {tp: all, dp: all}\nprograms:\n  do:\n"
      "    - {compute: f, takes: 20us}\n"
      "    - {on: 0, do: [{all_reduce: tp, stream: compute}, {all_reduce: dp, stream: compute}]}\n"
      "    - {on: 1, do: [{all_reduce: dp, stream: compute}, {all_reduce: tp, stream: "
      "compute}]}\n");
  REQUIRE(lines.size() >= 3);
  CHECK(contains(lines[0], "| stuck at 20 us"));
  CHECK(contains(lines[1], "| ! all_reduce tp"));
  CHECK(contains(lines[2], "| ! all_reduce dp"));
  CHECK(contains(lines[1], "f-"));
  CHECK(contains(lines.back() + lines[lines.size() - 2], "! waits forever, on the cycle"));
}

// Ops are named by stage and micro-batch, as in PyTorch's files; F takes 4 us, B 8 us.
TEST_CASE("a schedule looks as in the papers", "[viz][terminal]") {
  const std::string text =
      "schema: 1\nschedule: {kind: 1f1b, stages: 2, micro_batches: 2, forward: 4us, "
      "input_grad: 4us, weight_grad: 4us}\n";
  // Stage 0 runs F0 and F1; stage 1 runs F0 from 4 us, B0, then F1, B1. B0 of stage 0 follows at 16
  // us, B1 at 28 us.
  const Lines lines = lines_of(text, {60, false});
  CHECK(lines[0] == "rank  stream   |0        |10 us    |20 us    |30 us");
  CHECK(lines[1] == "0     compute  F0--F1--        B0------    B1------");
  CHECK(lines[2] == "1     compute      F0--B0------F1--B1------");
}

TEST_CASE("colours change nothing else", "[viz][terminal]") {
  const std::string text =
      "schema: 1\nschedule: {kind: zb1p, stages: 3, micro_batches: 4, forward: 4us, "
      "input_grad: 4us, weight_grad: 4us}\n";
  const Lines plain = lines_of(text);
  Lines coloured = lines_of(text, {100, true});
  REQUIRE(coloured.size() == plain.size());
  CHECK(contains(coloured[1], "\033[34mF0"));
  for (std::size_t i = 0; i < plain.size(); ++i) {
    std::string& line = coloured[i];
    for (std::size_t at = 0; (at = line.find('\033')) != std::string::npos;) {
      line.erase(at, line.find('m', at) - at + 1);
    }
    CHECK(line == plain[i]);
  }
}

TEST_CASE("no line is wider than the terminal", "[viz][terminal]") {
  const std::string hang = testing::file_text("scenarios/swin_2x2x2.yaml");
  const std::string good = testing::file_text("scenarios/pipeline_1f1b.yaml");
  for (const std::size_t columns : {60U, 71U, 80U, 83U, 85U, 100U, 133U, 250U}) {
    Lines lines = lines_of(hang, {columns, false});
    for (std::string& line : lines_of(good, {columns, false})) lines.push_back(std::move(line));
    for (const std::string& line : lines) {
      CAPTURE(columns, line);
      CHECK((line.size() <= columns || contains(line, "stuck at")));
    }
  }
}

// A run without any duration draws no bars; a run until the largest possible time is also drawn.
TEST_CASE("runs of no time and of all time are drawn", "[viz][terminal]") {
  const Lines at_once = lines_of(
      "schema: 1\nreading: contract\nranks: 2\ngroups: {tp: all}\nprograms:\n  do:\n"
      "    - {on: 0, do: [{all_reduce: tp, name: late}]}\n");
  CHECK(at_once[1] == "0     nccl tp  | ! late");
  const Lines long_ago = lines_of(
      "schema: 1\nreading: contract\nranks: 2\ngroups: {tp: all}\nprograms:\n  do:\n"
      "    - {compute: f, takes: 9000000000s}\n"
      "    - {on: 0, do: [{all_reduce: tp, name: late, after: [compute]}]}\n");
  CHECK(contains(long_ago[0], "| stuck at 9000000000 s"));
  CHECK(contains(long_ago[1], "f----"));
}

TEST_CASE("of many ranks some are drawn, and those of the cycle", "[viz][terminal]") {
  // Each rank has its own pace, so no two rows are equal; ranks 70 and 71 hang.
  const Lines lines = lines_of(
      "schema: 1\nranks: 90\ngroups: {a: [[70, 71]], b: [[70, 71]]}\nprograms:\n  do:\n"
      "    - {compute: f, takes: rank * 3us + 10us}\n    - {compute: g, stream: b, takes: 99us}\n"
      "    - {on: 70, do: [{all_reduce: a, stream: compute}, {all_reduce: b, stream: compute}]}\n"
      "    - {on: 71, do: [{all_reduce: b, stream: compute}, {all_reduce: a, stream: compute}]}\n");
  CHECK(lines.size() < 70);
  bool has_cycle = false;
  for (const std::string& line : lines) has_cycle = has_cycle || line.substr(0, 3) == "70 ";
  CHECK(has_cycle);
  CHECK(contains(lines.back(), "of 90 ranks"));
}

TEST_CASE("the timeline stands below the report", "[app][terminal]") {
  const std::string scenario = "schema: 1\nactors: {a: {source: 1, takes: 1us}}\n";
  const testing::CommandResult report = testing::command({"run", "-"}, scenario);
  const testing::CommandResult both = testing::command({"run", "-", "--timeline"}, scenario);
  CHECK(both.out.substr(0, report.out.size()) == report.out);
  CHECK(contains(both.out, "\nrank  stream  |0 "));
  CHECK(testing::command({"run", "-", "--timeline", "--json"}, scenario).code == 2);
  CHECK(testing::command({"run", "x.goal", "--timeline"}).code == 2);
}
