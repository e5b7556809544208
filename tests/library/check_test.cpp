// Tests of check() and check_scenario(), which a user's C++ program calls.
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
  // In the file's setting, no rank skips the call. If one rank skips it, the other waits.
  CHECK(check(load_scenario(path)).proved());
  const CheckResult all = check_scenario(path);
  CHECK(all.answer == Answer::kHangPossible);
  CHECK(all.report.find("skip") != std::string::npos);
  // The command appends a line with its own arguments.
  CHECK(testing::command({"check", path}).out.rfind(all.report, 0) == 0);
  CHECK_FALSE(never_hangs().match(all));
  // A given setting is not varied: `on` means that all ranks skip the call, `off` that none does.
  CHECK(check_scenario(path, {{"skip", "on"}}).proved());
  CHECK(check_scenario(path, {{"skip", "off"}}).proved());
  CHECK(check_scenario(path, {{"skip", "rank == 1"}}).answer == Answer::kHangCertain);
  // A check that stops after one of the settings leaves the job undecided.
  CheckOptions options;
  options.max_ways = 1;
  CHECK(check_scenario(path, {}, options).answer == Answer::kUndecided);
  // Without choices, check_scenario() equals check() of the graph.
  const std::string other = "scenarios/buffer_on_the_wrong_stream.yaml";
  CHECK(check_scenario(other).report == check(load_scenario(other)).report);
}

// Rank 2 exchanges no bytes with rank 0 and joins late: it first waits for a send from rank 0,
// which is queued behind rank 0's exchange.
TEST_CASE("an answer says what it assumes, as the command does", "[library][check]") {
  const testing::Folder folder;
  const std::string parts =
      "{all_to_all: ep, splits: [\"if(rank == 2, 0B, 1KiB)\", 1KiB, \"if(rank == 0, 0B, 1KiB)\"]}";
  const std::string path = folder.write(
      "exchange.yaml",
      "schema: 1\nname: exchange\nrests_on: [the sizes are made up]\nranks: 3\n"
      "groups: {ep: all, pp: [0, 2]}\ncommunicators: {creation: start}\nprograms:\n  do:\n"
      "    - {all_to_all: ep, splits: [1KiB, 1KiB, 1KiB]}\n"
      "    - {send: pp, to: 2, bytes: 1GiB, on: 0}\n    - {recv: pp, from: 0, bytes: 1GiB, on: 2}\n"
      "    - {synchronize: device}\n"
      "    - {on: 0, do: [" +
          parts +
          ", {send: pp, to: 2, bytes: 1GiB, after: [nccl ep]}]}\n"
          "    - {on: 1, do: [" +
          parts +
          "]}\n"
          "    - {on: 2, do: [{recv: pp, from: 0, bytes: 1GiB}, {synchronize: nccl pp}, " +
          parts + "]}\n    - {synchronize: device}\n");
  const Graph graph = load_scenario(path);
  const std::string by_command = testing::command({"check", path}).out;
  for (const CheckResult& result : {check(graph), check_scenario(path)}) {
    CHECK(result.proved());
    CHECK(result.report.find("the sizes are made up") != std::string::npos);
    CHECK(result.json.find("an empty part of an all_to_all is not sent") != std::string::npos);
    CHECK(result.json.find("otherwise this can hang") != std::string::npos);
    CHECK(by_command.rfind(result.report, 0) == 0);
  }
  // A graph that a pass has changed exists for only one rule about empty parts, so check does not
  // try the other rule.
  const CheckResult changed = check(run_passes(graph, "canonicalize"));
  CHECK(changed.json.find("otherwise this was not checked") != std::string::npos);
}

TEST_CASE("what only timing keeps from hanging does not never hang", "[library][check]") {
  const Graph graph = load_scenario("scenarios/swin_2x2x2.yaml");
  CheckOptions options;
  options.max_states = 10'000;
  CHECK_FALSE(check(graph, options).proved());
}
