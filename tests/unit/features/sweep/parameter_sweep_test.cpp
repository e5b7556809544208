#include "features/sweep/parameter_sweep.hpp"

#include <string>
#include <vector>

#include "models/result/hang_signature.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"

using namespace pipesim;
using models::CaseResult;
using models::ParameterGrid;
using models::SweepCases;
using models::SweepSummary;
using sim::Verdict;

namespace {

using Texts = std::vector<std::string>;

Texts values(const std::string& text) {
  std::string problem;
  const auto variable = models::parse_variable(text, problem);
  CAPTURE(text, problem);
  REQUIRE(variable.has_value());
  return variable->values;
}

std::string mistake(const std::string& text) {
  std::string problem;
  CHECK_FALSE(models::parse_variable(text, problem).has_value());
  return problem;
}

SweepCases laid_out(const ParameterGrid& grid) {
  std::string problem;
  auto cases = models::lay_out(grid, problem);
  CAPTURE(problem);
  REQUIRE(cases.has_value());
  return *cases;
}

CaseResult ended(Verdict verdict, std::int64_t time, const std::string& why = "") {
  CaseResult result;
  result.verdict = verdict;
  result.time_ns = time;
  result.why = why;
  return result;
}

std::string reason(const std::string& text) {
  return models::reason_of(testing::explanation_of(text));
}

// Returns a job of two ranks with separate programs.
std::string programs(const std::string& first, const std::string& second) {
  return "schema: 1\nranks: 2\ngroups: {g: all, h: all}\nprograms:\n"
         "  - on: 0\n    do: [" +
         first + "]\n  - on: 1\n    do: [" + second + "]\n";
}

}  // namespace

TEST_CASE("a variable has values, ranges, or both", "[models][parameter_sweep]") {
  CHECK(values("acc=1..4") == Texts{"1", "2", "3", "4"});
  CHECK(values("acc=1..8:3") == Texts{"1", "4", "7"});
  CHECK(values("t=1ms..3ms") == Texts{"1ms", "2ms", "3ms"});
  CHECK(values("t=10%..50%:20%") == Texts{"10%", "30%", "50%"});
  CHECK(values("d=-1..1") == Texts{"-1", "0", "1"});
  CHECK(values("s=a,b c,7..9,x=y") == Texts{"a", "b c", "7", "8", "9", "x=y"});
  CHECK(values("acc=5..5") == Texts{"5"});
}

TEST_CASE("what is not a variable is reported with the reason", "[models][parameter_sweep]") {
  CHECK(mistake("acc") == "expected NAME=VALUES, found 'acc'");
  CHECK(mistake("=1..2") == "expected NAME=VALUES, found '=1..2'");
  CHECK(mistake("acc=") == "acc=: a value is missing");
  CHECK(mistake("acc=1,,2") == "acc=1,,2: a value is missing");
  CHECK(mistake("acc=1,2,1..3") == "acc=1,2,1..3: '1' is listed twice");
  CHECK(mistake("acc=8..1") == "acc=8..1: the range ends before it begins");
  CHECK(mistake("acc=1..8:0") == "acc=1..8:0: the step of a range must be at least 1");
  const std::string form =
      ": expected two integers with the same unit or none, and an optional step: 1..8, "
      "1ms..9ms:2ms";
  for (const char* text : {"a=1..", "a=..3", "a=1..b", "a=1ms..3us", "a=1ms..3ms:1", "a=1...3",
                           "a=1.5..2.5", "a=1..3:", "a=99999999999999999999..3"}) {
    CHECK(mistake(text) == text + form);
  }
  CHECK(mistake("a=0..9223372036854775807") ==
        "a=0..9223372036854775807: this is more than 10000000 values");
}

TEST_CASE("the last variable changes fastest, and the seed faster", "[models][parameter_sweep]") {
  const ParameterGrid grid = {{{"a", {"x", "y"}}, {"jitter", {"0", "10%"}}}, "0", 3, 5};
  const SweepCases cases = laid_out(grid);
  REQUIRE(cases.points.size() == 4);
  CHECK(cases.points[0].values == Texts{"x", "0"});
  CHECK(cases.points[1].values == Texts{"x", "10%"});
  CHECK(cases.points[2].values == Texts{"y", "0"});
  // Without jitter, one run per point is enough.
  CHECK(cases.count == 8);
  CHECK(cases.points[0].cases == 1);
  CHECK(cases.points[1].first_case == 1);
  CHECK(cases.points[1].cases == 3);
  // Points that differ only in jitter share one combination of parameters.
  CHECK(cases.combinations == std::vector<std::size_t>{0, 2});
  CHECK(cases.points[1].combination == 0);
  CHECK(cases.points[3].combination == 1);
  CHECK(cases.jitter_of(grid, 0) == sim::Jitter{.seed = 5});
  CHECK(cases.jitter_of(grid, 3) == sim::Jitter{.permille = 100, .seed = 7});
  CHECK(cases.jitter_of(grid, 5) == sim::Jitter{.permille = 100, .seed = 5});
  CHECK(cases.point_of(4).values == Texts{"y", "0"});
}

TEST_CASE("a grid that varies nothing is one run", "[models][parameter_sweep]") {
  const SweepCases cases = laid_out({});
  CHECK(cases.count == 1);
  CHECK(cases.points[0].values.empty());
}

TEST_CASE("a sweep has a limit", "[models][parameter_sweep]") {
  std::string problem;
  ParameterGrid grid = {{{"a", {"1", "2"}}}, "10%", 5'000'001, 0};
  CHECK_FALSE(models::lay_out(grid, problem).has_value());
  CHECK(problem == "this is more than 10000000 runs: too many for one sweep");
  grid.jitter = "10";
  grid.seeds = 1;
  CHECK_FALSE(models::lay_out(grid, problem).has_value());
  CHECK(problem == "jitter is 0, a percentage (10%, 0.5%) or free, found '10'");
}

TEST_CASE("the middle of numbers is one of them", "[models][parameter_sweep]") {
  CHECK_FALSE(models::spread_of({}).has_value());
  CHECK(models::spread_of({7}) == models::Spread{7, 7, 7});
  CHECK(models::spread_of({9, 1}) == models::Spread{1, 1, 9});
  CHECK(models::spread_of({5, 9, 1}) == models::Spread{1, 5, 9});
  CHECK(models::spread_of({4, 3, 2, 1}) == models::Spread{1, 2, 4});
}

TEST_CASE("runs that end alike are counted together", "[models][parameter_sweep]") {
  const SweepCases cases = laid_out({{{"a", {"1", "2"}}}, "10%", 4, 0});
  const SweepSummary summary = models::summarize(
      cases, {ended(Verdict::kCompleted, 10), ended(Verdict::kDeadlock, 5, "cycle: x"),
              ended(Verdict::kCompleted, 30), ended(Verdict::kCompleted, 20),
              ended(Verdict::kCrashed, 1, "cycle: x"), ended(Verdict::kDeadlock, 7, "cycle: x"),
              ended(Verdict::kDeadlock, 9, "cycle: y"), ended(Verdict::kDeadlock, 8, "cycle: x")});
  CHECK(summary.not_completed == 5);
  REQUIRE(summary.hangs.size() == 3);
  CHECK(summary.hangs[0].why == "cycle: x");
  CHECK(summary.hangs[0].count == 3);
  CHECK(summary.hangs[0].first_case == 1);
  CHECK(summary.hangs[1].verdict == Verdict::kCrashed);
  CHECK(summary.hangs[2].why == "cycle: y");
  const models::PointSummary& first = summary.points[0];
  CHECK(first.not_completed() == 1);
  CHECK(first.makespan_ns == models::Spread{10, 20, 30});
  CHECK(first.stopped_ns == models::Spread{5, 5, 5});
  const models::PointSummary& second = summary.points[1];
  CHECK_FALSE(second.makespan_ns.has_value());
  CHECK(second.stopped_ns == models::Spread{1, 7, 9});
  REQUIRE(second.hangs.size() == 3);
  CHECK(second.hangs[0].hang == 0);
  CHECK(second.hangs[0].count == 2);
  CHECK(second.hangs[0].first_case == 5);
  CHECK(second.by_verdict[static_cast<std::size_t>(Verdict::kDeadlock)] == 3);
}

TEST_CASE("why a run does not complete is said without ranks", "[models][parameter_sweep]") {
  const std::string g = "{all_reduce: g, bytes: 8B, name: a}";
  const std::string h = "{all_reduce: h, bytes: 8B, name: b}";
  const std::string larger = "{all_reduce: g, bytes: 16B, name: c}";
  const std::string sync = "synchronize";
  CHECK(reason(programs(g, g)).empty());
  CHECK(reason(programs(g, larger)) == "mismatch: a, c");
  CHECK(reason(programs(g, h)).substr(0, 14) == "absent member:");
}

TEST_CASE("a case is run in its timing, and its memory is known where sizes are",
          "[models][parameter_sweep]") {
  const std::string text =
      "schema: 1\nstreams: {s: {}}\nactors:\n"
      "  a: {stream: s, source: 4, slots: 2, takes: 10us, bytes: 1KiB}\n"
      "  b: {stream: s, reads: [a], takes: 10us}\n";
  const formats::Scenario scenario = testing::scenario_of(text);
  const models::Lowered lowered = testing::lowered_of(text);
  const auto run = [&](const sim::Jitter& jitter) {
    return *models::run_case(scenario.graph, lowered, jitter, nullptr);
  };
  const CaseResult plain = run({});
  CHECK(plain.verdict == Verdict::kCompleted);
  CHECK(plain.time_ns == 80'000);
  CHECK(plain.ops_done == 8);
  CHECK(plain.ops_expected == 8);
  CHECK(plain.fingerprint == testing::simulate(scenario.graph).explanation.fingerprint);
  CHECK(run({.permille = 100, .seed = 1}).time_ns >= 72'000);
  CHECK(run({.permille = 100, .seed = 1}).time_ns <= 88'000);
  CHECK_FALSE(run({.permille = 100, .seed = 1}) == run({.permille = 100, .seed = 2}));
}
