// Scenarios that a user's C++ program loads. The tests run at the root of the sources.
#include <string>

#include "pipesim/catch2.hpp"
#include "pipesim/pipesim.hpp"
#include "pipesim/task_graph.hpp"
#include "tests/support/catch.hpp"

using namespace pipesim;

TEST_CASE("a scenario is loaded with settings", "[library][scenario]") {
  const std::string path = "scenarios/swin_2x2x2.yaml";
  CHECK_THAT(run(load_scenario(path)), deadlocks());
  CHECK_THAT(run(load_scenario(path, {{"bwd_dst_buffer", "backward"}})), completes());
  CHECK(scenario_parameters(path).at("bwd_dst_buffer") == "forward");
  CHECK(scenario_parameters(path, {{"bwd_dst_buffer", "own"}}).at("bwd_dst_buffer") == "own");
}

TEST_CASE("all mistakes of a scenario are thrown, with their places", "[library][scenario]") {
  try {
    parse_scenario("schema: 1\nactors:\n  a: {source: many, stram: s}\n", {{"acc", "2"}},
                   "my.yaml");
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(std::string(error.what()) ==
          R"(my.yaml: error[E0306]: --set acc=2: the scenario has no parameters
  help: see 'pipesim help E0306'
my.yaml:3:15: error[E0306]: unknown parameter 'many'
    a: {source: many, stram: s}
                ^
  help: known here: rank, ranks
my.yaml:3:21: error[E0201]: unknown key 'stram' in an actor
    a: {source: many, stram: s}
                      ^
  help: did you mean 'stream'?
)");
    REQUIRE(error.mistakes().size() == 3);
    CHECK(error.mistakes()[0].line == 0);
    CHECK(error.mistakes()[2].line == 3);
    CHECK(error.mistakes()[2].column == 21);
    CHECK(error.mistakes()[2].message == "unknown key 'stram' in an actor");
    CHECK(error.mistakes()[2].notes == std::vector<std::string>{"did you mean 'stream'?"});
  }
}

TEST_CASE("a file that is not there is an error without mistakes", "[library][scenario]") {
  for (const char* path : {"no/such/file.yaml", "-"}) {
    try {
      load_scenario(path);
      FAIL("nothing was thrown");
    } catch (const Error& error) {
      CHECK(std::string(error.what()).find("No such file") != std::string::npos);
      CHECK(error.mistakes().empty());
    }
  }
}

TEST_CASE("a graph is written as a scenario that reads as it", "[library][scenario]") {
  const Graph graph = load_scenario("scenarios/swin_2x2x2.yaml");
  CHECK(parse_scenario(graph.yaml()) == graph);
  CHECK_FALSE(load_scenario("scenarios/swin_2x2x2.yaml", {{"acc", "2"}}) == graph);
}

TEST_CASE("a task graph of one's own becomes a graph if it holds together", "[library][scenario]") {
  models::TaskGraph inside = load_scenario("scenarios/launch_queue_full.yaml").task_graph();
  CHECK(Graph(inside) == load_scenario("scenarios/launch_queue_full.yaml"));
  inside.actors.at(0).stream = 99;
  CHECK_THROWS_AS(Graph(inside), Error);
}
