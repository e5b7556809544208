#include "models/result/idle.hpp"

#include <limits>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"

using namespace pipesim;
using namespace pipesim::models;

namespace {

std::vector<std::int64_t> busy_in(const std::string& text) {
  const TaskGraph graph = testing::scenario_of(text).graph;
  sim::RunOptions options;
  options.keep_op_times = true;
  return busy_ns(graph, testing::simulate(graph, options));
}

using Busy = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("what overlaps counts once", "[models][idle]") {
  CHECK(busy_in("schema: 1\nactors:\n"
                "  a: {source: 2, slots: 2, takes: 10us}\n"
                "  b: {reads: [a], takes: 4us}\n"
                "  c: {source: 1, takes: 13us}\n") == Busy{24'000});
}

TEST_CASE("a collective that waits for its peers does not run", "[models][idle]") {
  CHECK(busy_in("schema: 1\nranks: 2\ngroups: {tp: all}\nactors:\n"
                "  a: {source: 1, takes: {case: rank, 0: 1us, else: 30us}}\n"
                "  g: {reads: [a], takes: 5us, collective: {all_reduce: tp}}\n") ==
        Busy{6'000, 35'000});
}

TEST_CASE("neither does a call, nor a wait for an event", "[models][idle]") {
  CHECK(
      busy_in("schema: 1\nranks: 2\ngroups: {pp: all}\nprograms:\n  do:\n"
              "    - {on: 0, do: [{compute: f, takes: 30us}, {send: pp, to: 1, takes: 5us, after: "
              "[compute]}]}\n"
              "    - {on: 1, do: [{recv: pp, from: 0, takes: 5us}, {compute: f, takes: 2us, after: "
              "[nccl pp]}]}\n") == Busy{35'000, 7'000});
}

TEST_CASE("calls that hold each other back run one after the other", "[models][idle]") {
  CHECK(
      busy_in("schema: 1\nranks: 2\ngroups: {pp: all}\nprograms:\n  do:\n"
              "    - {on: 0, do: [{group: [{send: pp, to: 1, takes: 5us}, {send: pp, to: 1, takes: "
              "5us}]}]}\n"
              "    - {on: 1, do: [{group: [{recv: pp, from: 0, takes: 5us}, {recv: pp, from: 0, "
              "takes: 5us}]}]}\n") == Busy{10'000, 10'000});
}

TEST_CASE("what the host does is no work of a device", "[models][idle]") {
  CHECK(busy_in("schema: 1\nprograms:\n  do:\n"
                "    - {host: load, takes: 9us}\n"
                "    - {compute: f, takes: 1us}\n") == Busy{1'000});
}

TEST_CASE("a hang is idle to its end", "[models][idle]") {
  CHECK(busy_in("schema: 1\nranks: 2\ngroups: {tp: all}\nactors:\n"
                "  a: {source: 1, takes: {case: rank, 0: 2us, else: 30us}}\n"
                "  g: {on: 0, reads: [a], takes: 5us, collective: {all_reduce: tp}}\n") ==
        Busy{2'000, 30'000});
}

TEST_CASE("shares are in millionths, rounded down, of any time", "[models][idle]") {
  CHECK(idle_share(100, 75) == 250'000);
  CHECK(idle_share(3, 2) == 333'333);
  CHECK(idle_share(0, 0) == 0);
  CHECK(idle_share(10, 10) == 0);
  CHECK(idle_share(10, 0) == kWholeShare);
  CHECK(idle_share(10, 15, 2) == 250'000);
  constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
  CHECK(idle_share(kEnd, kEnd / 2) == 500'000);
  CHECK(idle_share(kEnd / 4, 0, 4) == kWholeShare);
}
