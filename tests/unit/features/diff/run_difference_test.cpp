#include "features/diff/run_difference.hpp"

#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"

using namespace pipesim;
using namespace pipesim::models;

namespace {

RunDifference difference(const std::string& text, const testing::Settings& before,
                         const testing::Settings& after) {
  sim::RunOptions options;
  options.keep_op_times = true;
  options.keep_log = true;
  const TaskGraph a = testing::scenario_of(text, before).graph;
  const TaskGraph b = testing::scenario_of(text, after).graph;
  return compare_runs({a, testing::simulate(a, options)}, {b, testing::simulate(b, options)});
}

const std::string kLine =
    "schema: 1\nparams: {n: 3, t: 2us, u: 1us}\nranks: 2\nactors:\n"
    "  a: {source: n, slots: 5, takes: 1us}\n"
    "  b: {reads: [a], takes: {case: rank, 1: t, else: 2us}, stream: s}\n"
    "  c: {source: 1, takes: u, stream: s}\n";

}  // namespace

TEST_CASE("a run does not differ from itself", "[models][run_difference]") {
  const RunDifference found = difference(kLine, {}, {});
  CHECK(found.empty());
  CHECK(found.ops_in_both == 14);
  CHECK(!found.first);
}

TEST_CASE("the first difference and what got slower are found", "[models][run_difference]") {
  const RunDifference found = difference(kLine, {}, {{"t", "5us"}});
  REQUIRE(found.first);
  CHECK(found.first->rank == 1);
  CHECK(found.first->name == "b");
  CHECK(found.first->number == 1);
  CHECK(found.first_ns == found.first->before.end.ns);
  CHECK(found.first->after.end.ns - found.first->before.end.ns == 3'000);
  CHECK(found.ops_moved == 3);
  REQUIRE(found.pace.size() == 1);
  CHECK(found.pace[0].op == "b");
  CHECK(found.pace[0].ops == 6);
  CHECK(found.pace[0].after_ns - found.pace[0].before_ns == 9'000);
  CHECK(found.pace[0].largest_ns == 3'000);
  CHECK(found.pace[0].largest.rank == 1);
}

TEST_CASE("ops that only one run has do not count", "[models][run_difference]") {
  const RunDifference found = difference(kLine, {}, {{"n", "5"}});
  CHECK(found.ops_in_both == 14);
  CHECK(found.pace.empty());
}

TEST_CASE("what changes places on a stream is reported once", "[models][run_difference]") {
  const std::string text =
      "schema: 1\nparams: {early: on}\nthreads: {t: {program: [{repeat: {case: early, on: 1, off: "
      "0}, "
      "do: [x, y]}, {repeat: {case: early, on: 0, off: 1}, do: [y, x]}]}}\n"
      "streams: {s: {thread: t}}\n"
      "actors:\n  x: {source: 1, stream: s, takes: 1us}\n  y: {source: 1, stream: s, takes: 1us}\n";
  const RunDifference found = difference(text, {}, {{"early", "off"}});
  REQUIRE(found.orders.size() == 1);
  CHECK(found.orders[0].stream == "s");
  CHECK(found.orders[0].position == 1);
  CHECK(found.orders[0].before == "x#1");
  CHECK(found.orders[0].after == "y#1");
}

TEST_CASE("the end of a run is what a report tells of it", "[models][run_difference]") {
  const RunEndFigures end = end_figures(testing::explain("scenarios/swin_2x2x2.yaml"));
  CHECK(end.verdict == "deadlock");
  CHECK(end.cause == "cycle");
  CHECK(end.time_ns == 43'600);
  CHECK(end.cycle.size() == 10);
  CHECK(end.cycle.front() == "rank 0 nccl-1998#3");
  CHECK(end.roots.empty());
  CHECK(!end.counts.empty());
}
