// The results of run(), as a user's C++ program sees them.
#include <chrono>
#include <sstream>
#include <string>

#include "pipesim/pipesim.hpp"
#include "tests/support/catch.hpp"

using namespace pipesim;
using namespace std::chrono_literals;

namespace {

Result hang_of_two() { return run(load_scenario("scenarios/buffer_on_the_wrong_stream.yaml")); }

}  // namespace

TEST_CASE("a hang is explained by its cycle", "[library][run]") {
  const Result result = hang_of_two();
  CHECK(result.verdict() == Verdict::kDeadlock);
  CHECK_FALSE(result.completed());
  CHECK(result.cause() == "cycle");
  CHECK(result.time() == 24us);
  CHECK(result.ops_done() == 16);
  CHECK(result.ops_expected() == 33);
  CHECK(result.fingerprint() != 0);
  REQUIRE(result.cycle().size() == 6);
  const Wait& wait = result.cycle()[2];
  CHECK(wait.text == "rank 1 table#3 waits for reduce#1 to free a slot of register 'out'");
  CHECK(wait.kind == "credit (data)");
  CHECK(wait.from.rank == 1);
  CHECK(wait.from.name == "table");
  CHECK(wait.from.number == 3);
  CHECK(wait.from.micro_batch == 3);
  CHECK(wait.from.stream == "forward");
  CHECK(wait.from.state == "not launched");
  CHECK(wait.to.text == "rank 1 reduce#1");
  CHECK(result.cycle_goes_through("buffer"));
  CHECK_FALSE(result.cycle_goes_through("loss"));
  CHECK(result.roots().empty());
  REQUIRE(result.ranks().size() == 2);
  CHECK(result.ranks()[0].spins);
  REQUIRE(result.ranks()[0].progress.size() >= 2);
  CHECK(result.ranks()[0].progress[0].what == "forward");
  CHECK(result.ranks()[0].progress[0].done == 2);
  CHECK(result.ranks()[0].progress[0].expected == 3);
}

TEST_CASE("the reports are those of the command", "[library][run]") {
  const Result result = hang_of_two();
  CHECK(result.text().rfind("buffer_on_the_wrong_stream  DEADLOCK at 24 us", 0) == 0);
  CHECK(result.text().find("Any one of these changes lets this run complete") != std::string::npos);
  CHECK(result.json().find("\"verdict\": \"deadlock\"") != std::string::npos);
  CHECK(result.dot().find("digraph") != std::string::npos);
  CHECK(result.graph().name() == "buffer_on_the_wrong_stream");
  std::ostringstream out;
  out << result;
  CHECK(out.str() == result.text());
}

TEST_CASE("who never comes is a root", "[library][run]") {
  GraphBuilder job("starved", 2);
  job.group("tp");
  job.program("main", 0).call("all_reduce", "tp").takes(1us);
  const Result result = run(job.build());
  CHECK(result.verdict() == Verdict::kStarved);
  REQUIRE(result.roots().size() == 1);
  CHECK(result.roots()[0].text == "rank 1");
  CHECK(result.roots()[0].rank == 1u);
  CHECK(result.roots()[0].waiting == 1);
}

TEST_CASE("a run can be bounded", "[library][run]") {
  const Graph graph = load_scenario("scenarios/buffer_on_the_right_stream.yaml");
  CHECK(run(graph).time() == 37us);
  RunOptions options;
  options.until = 20us;
  CHECK(run(graph, options).verdict() == Verdict::kLimit);
  CHECK(run(graph, options).time() <= 20us);
  options = {};
  options.max_events = 3;
  CHECK(run(graph, options).verdict() == Verdict::kLimit);
  CHECK(verdict_name(Verdict::kLimit) == "limit");
}

TEST_CASE("a graph that cannot be run says why", "[library][run]") {
  GraphBuilder job("rates");
  job.actor("a").source(2);
  job.actor("b").source(3);
  job.actor("c").reads("a").reads("b");
  CHECK_THROWS_AS(run(job.build()), Error);
}
