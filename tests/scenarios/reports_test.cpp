// Hangs of public reports, tests/reports/*.yaml. The authors' fix is among the first fixes that
// `fix` prints. Each fix marked as proved is proved. `lint` finds the cause that the report names.
// The rows were written from the reports; docs/how-to/fix.md lists them.
#include <algorithm>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "formats/scenario/scenario.hpp"
#include "sim/engine.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/scenario.hpp"

#include "features/check/nccl_modes.hpp"

using namespace pipesim;

namespace {

using Json = nlohmann::json;

struct PublicReport {
  std::string report;
  std::string fix;   // part of the text of one of the first three fixes
  std::string rule;  // the lint rule that finds the cause
};

const std::vector<PublicReport>& rows() {
  static const std::vector<PublicReport> kRows = {
      {"nccl_479", "send world and recv world in one group call", "send-first"},
      {"nccl_783", "in one group call, with the second (step.py:14)", "send-first"},
      {"nccl_195", "all_reduce b (reduce.cc:93) waits for all earlier work on stream 'nccl a'",
       "device-room"},
      {"rccl_2191", "NCCL_LAUNCH_ORDER_IMPLICIT=1", "device-room"},
      {"pytorch_134314", "all ranks call split world", "meeting"},
      {"pytorch_33148",
       "the loop around all_reduce dp (train.py:66 backward): repeat 5 instead of 4",
       "collective-order"},
      {"pytorch_77562", "all ranks run the block of all_gather world", "collective-branch"},
      {"pytorch_113376", "recv world (receiver.py:9): bytes 1 MiB instead of 2 MiB",
       "message-size"},
      {"pytorch_172668", "rank 0: 2RECV_F0 (schedules.py:1901 2RECV_F0) before 0SEND_F1",
       "send-first"},
      {"pytorch_172668_rows", "rank 0: 2RECV_F0 before 0SEND_F1 in the row", "send-first"},
      {"pytorch_195760", "on a separate", "send-first"},
      {"megatron_1444", "all ranks call all_reduce pp", "collective-branch"},
      {"megatron_3401", "bytes 60 B instead of 56 B", "collective-order"},
      {"megatron_1450", "rank 1: recv_prev (p2p_communication.py:350) before recv_next",
       "message-size"},
      {"deepspeed_4726", "rank 1: broadcast pipe", "collective-order"},
      {"vllm_43547", "all ranks run the block of all_to_all ep", "collective-branch"},
      {"sglang_24694", "all ranks call gather_mask", "collective-branch"},
      {"ray_45594", "recv channel (dag.py:9 a.consume) before send channel", "send-first"},
      {"torchrec_4149", "all_reduce replicate (ddp.py:77 all_reduce) before all_to_all shard",
       "group-order"},
      {"maxdiffusion_426", "all ranks run the block of profiled_sum", "collective-branch"},
      {"torch_ccl_72", "recv world (test.py:27 irecv) before send world", "send-first"},
  };
  return kRows;
}

std::string path_of(const PublicReport& row) { return "tests/reports/" + row.report + ".yaml"; }

Json fix(const PublicReport& row) {
  const auto result = testing::command({"fix", path_of(row), "--json"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  return Json::parse(result.out);
}

}  // namespace

TEST_CASE("reports: the fix of the authors is among the first three", "[scenarios][reports]") {
  for (const PublicReport& row : rows()) {
    const Json report = fix(row);
    std::string first;
    for (std::size_t i = 0; i < std::min<std::size_t>(3, report["fixes"].size()); ++i) {
      first += report["fixes"][i]["text"].get<std::string>() + "\n";
    }
    INFO(row.report << "\n" << first);
    CHECK(testing::contains(first, row.fix));
  }
}

TEST_CASE("reports: a fix that is called proved completes in every reading and timing",
          "[scenarios][reports]") {
  for (const PublicReport& row : rows()) {
    const Json report = fix(row);
    for (const Json& change : report["fixes"]) {
      if (change["certainty"] != "proved") continue;
      INFO(row.report << ": " << change["text"]);
      models::Diagnostics diagnostics;
      formats::ReadOptions options;
      options.patches.push_back({"a patch", change["patch"].get<std::string>()});
      const auto changed =
          formats::read_scenario(testing::file_text(path_of(row)), {}, diagnostics, options);
      REQUIRE(changed);
      models::TaskGraph graph = changed->graph;
      const bool one =
          graph.nccl_mode != models::NcclMode::kCold || change["by_buffers"].get<bool>();
      const std::vector<models::NcclMode> modes =
          one ? std::vector{graph.nccl_mode}
              : std::vector{models::NcclMode::kContract, models::NcclMode::kCold};
      for (const models::NcclMode mode : modes) {
        graph.nccl_mode = mode;
        const auto lowered = models::lower(graph, diagnostics);
        REQUIRE(lowered);
        CHECK(sim::explore(lowered->plan, {}).answer == sim::Answer::kProved);
        for (std::uint64_t seed = 0; seed < 400; ++seed) {
          sim::RunOptions run;
          run.jitter.seed = seed;
          run.jitter.free = true;
          if (!sim::run(lowered->plan, run).completed()) FAIL("seed " << seed << " hangs");
        }
      }
    }
  }
}

TEST_CASE("reports: lint finds the rule that the report names", "[scenarios][reports][lint]") {
  for (const PublicReport& row : rows()) {
    const auto result = testing::command({"lint", path_of(row), "--json"});
    INFO(row.report << "\n" << result.out << result.err);
    std::vector<std::string> rules;
    const Json report = Json::parse(result.out);
    for (const Json& finding : report["findings"]) rules.push_back(finding["rule"]);
    CHECK(std::find(rules.begin(), rules.end(), row.rule) != rules.end());
  }
}
