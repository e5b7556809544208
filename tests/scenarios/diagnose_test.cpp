// `diagnose` reads the log that `run --log` writes for a hang, and reports the same hang.
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/shared.hpp"

using namespace pipesim;
using nlohmann::json;
using testing::command;

namespace {

constexpr const char* kSwinJob = "scenarios/swin_2x2x2.yaml";

std::set<int> ranks_of_cycle(const json& report) {
  std::set<int> ranks;
  for (const json& wait : report["cycle"]) ranks.insert(wait["rank"].get<int>());
  return ranks;
}

// Returns lines such as "0 forward 2 of 4": the progress of each rank. `done` is the JSON key of
// the number of finished ops.
std::set<std::string> table(const json& report, const char* done) {
  std::set<std::string> rows;
  for (const json& rank : report["ranks"]) {
    for (const json& progress : rank["progress"]) {
      rows.insert(rank["rank"].dump() + " " + progress["what"].get<std::string>() + " " +
                  progress[done].dump() + " of " + progress["expected"].dump());
    }
  }
  return rows;
}

}  // namespace

TEST_CASE("the logs of the Swin hang give its table and its ranks", "[diagnose]") {
  const testing::Folder folder;
  const auto ran = command(
      {"run", kSwinJob, "--json", "--log", folder / "all.log", "--log-dir", folder / "logs"});
  REQUIRE(ran.code == 1);
  const json run = json::parse(ran.out);
  REQUIRE(ranks_of_cycle(run) == std::set<int>{0, 1});
  for (const char* logs : {"all.log", "logs"}) {
    const auto read =
        command({"diagnose", "oneflow", folder / logs, "--scenario", kSwinJob, "--json"});
    CHECK(read.err.empty());
    CHECK(read.code == 1);
    const json found = json::parse(read.out);
    CHECK(found["verdict"] == run["verdict"]);
    CHECK(ranks_of_cycle(found) == std::set<int>{0, 1});
    CHECK(found["root_ranks"] == json({0, 1}));
    CHECK(table(found, "launched") == table(run, "done"));
    REQUIRE(found["notes"].size() == 1);
    CHECK(testing::contains(found["notes"][0].get<std::string>(), "ends in the same place"));
  }
  // Without the scenario, diagnose needs only the groups of the collectives.
  const auto read = command({"diagnose", "oneflow", folder / "logs", "--group", "0,1", "--group",
                             "2,3", "--group", "4-5", "--group", "6-7", "--json"});
  const json found = json::parse(read.out);
  CHECK(ranks_of_cycle(found) == std::set<int>{0, 1});
  // Without scenario and groups, diagnose finds the same lagging ranks.
  const json alone = json::parse(command({"diagnose", "oneflow", folder / "logs", "--json"}).out);
  CHECK(alone["behind"] == json({0, 1}));
  CHECK(alone["root_ranks"].empty());
}

// In this hang, rank 0 waits in the forward's all-gather of micro-batch 3, rank 1 in the backward's
// all-gather of micro-batch 1.
TEST_CASE("the logs of the Swin hang are a scenario that hangs in the same collectives",
          "[diagnose]") {
  const testing::Folder folder;
  const std::string scenario = folder / "heart.yaml";
  CHECK(command({"run", kSwinJob, "--log", folder / "all.log"}).code == 1);
  CHECK(command({"diagnose", "oneflow", folder / "all.log", "--scenario", kSwinJob, "--as-scenario",
                 scenario})
            .code == 1);
  CHECK(command({"test", scenario}).code == 0);
  const json run = json::parse(command({"run", scenario, "--json"}).out);
  CHECK(run["verdict"] == "deadlock");
  CHECK(ranks_of_cycle(run) == std::set<int>{0, 1});
  std::set<std::string> collectives;
  for (const json& wait : run["cycle"]) {
    const std::string op = wait["op"];
    if (testing::contains(op, "nccl")) {
      collectives.insert(std::to_string(wait["rank"].get<int>()) + " " + op);
    }
  }
  CHECK(collectives ==
        std::set<std::string>{"0 all_reduce pgnccl_1998", "1 all_reduce pgnccl_2108"});
}

TEST_CASE("a log of another run ends elsewhere, and of one that completes nothing is wrong",
          "[diagnose]") {
  const testing::Folder folder;
  REQUIRE(command({"run", kSwinJob, "--set", "acc=2", "--log", folder / "all.log"}).code == 0);
  const auto same = command(
      {"diagnose", "oneflow", folder / "all.log", "--scenario", kSwinJob, "--set", "acc=2"});
  CHECK(same.code == 0);
  CHECK(testing::contains(same.out, "ends in the same place"));
  const auto other = command({"diagnose", "oneflow", folder / "all.log", "--scenario", kSwinJob});
  CHECK(testing::contains(other.out, "ends in another place: "));
  CHECK(testing::contains(other.out,
                          "  rank 0 SRC: entered 2 and launched 2 in the log, 4 and 4 "
                          "in the run\n"));
}

namespace {

// Writes the evidence as a scenario and checks that the scenario meets its own expectation. Returns
// the JSON report of the scenario's run.
json run_of_evidence(const std::string& dumps, const testing::Folder& folder) {
  const std::string path = folder / "hang.yaml";
  const auto found =
      command({"diagnose", "flight-recorder", dumps, "--json", "--as-scenario", path});
  const json diagnosis = json::parse(found.out);
  const auto tested = command({"test", path});
  INFO(tested.out + tested.err);
  CHECK(tested.code == 0);
  const json run = json::parse(command({"run", path, "--json"}).out);
  CHECK(run["verdict"] == diagnosis["verdict"]);
  const auto compared = command({"compare", path, dumps});
  INFO(compared.out);
  CHECK(compared.code == 0);
  return run;
}

std::set<int> root_ranks(const json& report) {
  std::set<int> ranks;
  for (const json& root : report["roots"]) ranks.insert(root["rank"].get<int>());
  return ranks;
}

}  // namespace

TEST_CASE("evidence as a scenario hangs in the same way", "[diagnose]") {
  const testing::Folder folder;
  const json cycle = run_of_evidence("tests/golden/diagnose_cycle/dumps", folder);
  CHECK(ranks_of_cycle(cycle) == std::set<int>{0, 1});
  const json starved = run_of_evidence("tests/golden/diagnose_starved_json/dumps", folder);
  CHECK(root_ranks(starved) == std::set<int>{1});
}

TEST_CASE("real hangs as scenarios have the same roots", "[diagnose][shared]") {
  const std::string data = testing::shared_data("flight_recorder/nvrx/");
  if (data.empty()) return;
  const testing::Folder folder;
  CHECK(root_ranks(run_of_evidence(data + "lock_gil_1st", folder)) == std::set<int>{9, 14});
  CHECK(root_ranks(run_of_evidence(data + "gpu_error_1st", folder)) == std::set<int>{12, 14});
  const auto other = command({"compare", data + "lock_gil_1st", data + "gpu_error_1st"});
  CHECK(other.code == 1);
  CHECK(testing::contains(other.out, "  other ranks are to blame\n"));
  CHECK(testing::contains(other.out, "  rank 13 is at all_to_all pg72 and at all_to_all pg74\n"));
}
