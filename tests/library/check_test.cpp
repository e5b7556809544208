// Every interleaving of a graph that was made in code.
#include "pipesim/check.hpp"

#include <chrono>

#include "pipesim/catch2.hpp"
#include "pipesim/pipesim.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/folder.hpp"

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

TEST_CASE("of a scenario in a file open choices are tried, both ways on each rank",
          "[library][check]") {
  const testing::Folder folder;
  const std::string path = folder.write(
      "skip.yaml",
      "schema: 1\nname: skip\nranks: 2\ngroups: {g: all}\n"
      "params: {skip: {default: off, choice: each_rank}}\n"
      "programs:\n  do:\n    - {when: not skip, all_reduce: g, bytes: 4KiB, takes: 1us}\n"
      "    - {synchronize: device}\n");
  // As it is read nobody skips. Where one rank does, the other waits for it.
  CHECK(check(load_scenario(path)).proved());
  const CheckResult all = check_scenario(path);
  CHECK(all.answer == Answer::kHangPossible);
  CHECK(all.report.find("skip") != std::string::npos);
  // The command adds the line that says what was called.
  CHECK(testing::command({"check", path}).out.rfind(all.report, 0) == 0);
  CHECK_FALSE(never_hangs().match(all));
  // What is set is not tried the other way: nobody calls, or nobody leaves out the call.
  CHECK(check_scenario(path, {{"skip", "on"}}).proved());
  CHECK(check_scenario(path, {{"skip", "off"}}).proved());
  CHECK(check_scenario(path, {{"skip", "rank == 1"}}).answer == Answer::kHangCertain);
  // Fewer ways than there are prove nothing.
  CheckOptions options;
  options.max_ways = 1;
  CHECK(check_scenario(path, {}, options).answer == Answer::kUndecided);
  // Without choices it is check() of the graph.
  const std::string other = "scenarios/buffer_on_the_wrong_stream.yaml";
  CHECK(check_scenario(other).report == check(load_scenario(other)).report);
}

TEST_CASE("what only timing keeps from hanging does not never hang", "[library][check]") {
  const Graph graph = load_scenario("scenarios/swin_2x2x2.yaml");
  CheckOptions options;
  options.max_states = 10'000;
  CHECK_FALSE(check(graph, options).proved());
}
