// The answer of `check` for the shipped scenarios in each reading. The table was written from
// NCCL's rules (docs/explanation/models-nccl.md) before it was compared with the program.
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/scenario.hpp"

#include "features/check/nccl_modes.hpp"

using namespace pipesim;

namespace {

nlohmann::json checked(const std::string& path) {
  const testing::CommandResult result =
      testing::command({"check", path, "--json", "--states", "2000"});
  INFO(result.err);
  REQUIRE(result.code <= 3);
  return nlohmann::json::parse(result.out);
}

bool is_hang(const nlohmann::json& answer) {
  return answer == "hang possible" || answer == "hang certain";
}

}  // namespace

TEST_CASE("check says of every shipped scenario by which reading it hangs",
          "[scenarios][readings][check]") {
  int with_modes = 0;
  int hangs = 0;
  int connected_hangs = 0;
  for (const std::string& path : testing::scenario_paths()) {
    INFO(path);
    const nlohmann::json report = checked(path);
    const models::TaskGraph graph = testing::load(path).graph;
    const bool has = models::has_nccl_modes(graph);
    CHECK(report.contains("readings") == has);
    if (!has) continue;
    ++with_modes;
    const nlohmann::json& modes = report["readings"];
    REQUIRE(modes.size() == 3);
    const std::string shown = report["reading"];
    const nlohmann::json& answer = modes[shown]["answer"];
    if (is_hang(report["answer"])) {
      ++hangs;
      // In a job with choices, the answers by reading are for only one of the ways to choose. That
      // way can be certain to hang although the job can also run.
      CHECK((report.contains("ways") ? is_hang(answer) : answer == report["answer"]));
    } else if (report["answer"] == "proved") {
      CHECK(modes["contract"]["answer"] == "proved");
      CHECK(modes["cold"]["answer"] == "proved");
    }
    // If a fresh job hangs, check shows this hang, unless the scenario says that its ranks are
    // connected and connected ranks also hang.
    const bool connected =
        graph.nccl_mode == models::NcclMode::kReal && is_hang(modes["real"]["answer"]);
    connected_hangs += connected ? 1 : 0;
    if (is_hang(modes["cold"]["answer"])) CHECK(shown == (connected ? "real" : "cold"));
  }
  CHECK(with_modes >= 20);
  CHECK(hangs >= 10);
  CHECK(connected_hangs >= 1);
}

TEST_CASE("check of the scenarios about NCCL, by reading", "[scenarios][readings][check]") {
  // Answers of `check` by scenario, in the readings contract, real, cold.
  const std::map<std::string, std::string> expected = {
      {"broadcast_root_ahead", "hang certain, runs by buffers, runs by buffers"},
      // If both ranks start the all-reduce first, the job completes.
      {"cooperative_dispatch", "hang possible, hang possible, hang possible"},
      // Once the ranks are connected, a hang depends only on whether there are kernel slots for
      // both calls.
      {"first_all_reduce_opposite_order", "hang possible, hang possible, hang certain"},
      {"first_batch_of_two_ranks", "proved, proved, hang certain"},
      {"first_gradient_blocks_host", "proved, proved, hang certain"},
      {"first_send_blocks_host", "proved, proved, hang certain"},
      {"graph_replay_without_buffers", "hang certain, hang certain, hang certain"},
      {"graphs_in_other_order", "hang certain, hang certain, hang certain"},
      {"nccl_order_1f1b_send_first", "hang certain, runs by buffers, hang certain"},
      {"ninth_small_send", "hang certain, hang certain, hang certain"},
      {"split_beside_all_reduce", "proved, proved, hang certain"},
      {"split_round_skipped", "hang certain, hang certain, hang certain"},
      {"two_kernels_few_sms", "hang possible, hang possible, hang possible"},
  };
  // The verdict rests on rule 9.4, an unmeasured rule.
  CHECK(
      checked("scenarios/broadcast_root_ahead.yaml")["rests_on"][0].get<std::string>().starts_with(
          "rule 9.4"));
  for (const auto& [name, answers] : expected) {
    INFO(name);
    const nlohmann::json modes = checked("scenarios/" + name + ".yaml")["readings"];
    std::string found;
    for (const char* mode : {"contract", "real", "cold"}) {
      found += (found.empty() ? "" : ", ") + modes[mode]["answer"].get<std::string>();
    }
    CHECK(found == answers);
  }
}
