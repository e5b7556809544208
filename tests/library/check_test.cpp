// Every interleaving of a graph that was made in code.
#include "pipesim/check.hpp"

#include <chrono>

#include "pipesim/catch2.hpp"
#include "pipesim/pipesim.hpp"
#include "tests/support/catch.hpp"

using namespace pipesim;

TEST_CASE("a graph that cannot hang is proved", "[library][check]") {
  GraphBuilder job("pair", 2);
  job.group("tp");
  job.actor("a").source(2).collective("all_reduce", "tp").takes(std::chrono::microseconds(1));
  const CheckResult result = check(job.build());
  CHECK(result.proved());
  CHECK(result.report.rfind("pair  PROVED", 0) == 0);
  CHECK_THAT(result, never_hangs());
}

TEST_CASE("a graph that hangs is not, and the report says why", "[library][check]") {
  const Graph graph = load_scenario("scenarios/buffer_on_the_wrong_stream.yaml");
  const CheckResult result = check(graph);
  CHECK_FALSE(result.proved());
  CHECK(result.answer == Answer::kHangPossible);
  CHECK(answer_name(result.answer) == "hang possible");
  CHECK(result.report.find("HANG POSSIBLE") != std::string::npos);
  CHECK(result.json.find("\"hang possible\"") != std::string::npos);
  CHECK_FALSE(never_hangs().match(result));
}

TEST_CASE("what only timing keeps from hanging does not never hang", "[library][check]") {
  const Graph graph = load_scenario("scenarios/swin_2x2x2.yaml");
  CheckOptions options;
  options.max_states = 10'000;
  CHECK_FALSE(check(graph, options).proved());
}
