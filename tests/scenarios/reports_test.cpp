// Hangs of public reports, tests/reports/*.yaml. The authors' fix is among the first fixes that
// `fix` prints. Each fix marked as proved is proved. `lint` finds the cause that the report names.
// The rows were written from the reports; docs/how-to/fix.md lists them.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "formats/scenario/scenario.hpp"
#include "sim/engine.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/scenario.hpp"
#include "tests/support/shared.hpp"

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

namespace {

/// A scenario or record in ../shared/data, with the answer in its expected.txt, or in the README of
/// its folder.
struct SharedInput {
  std::vector<std::string> arguments;  // `@` stands for ../shared/data/
  int code = 0;
  std::vector<std::string> says{};
  std::vector<std::string> never{};
};

void check_answers(const std::vector<SharedInput>& all) {
  for (SharedInput it : all) {
    for (std::string& argument : it.arguments) {
      if (argument.starts_with('@')) argument = testing::shared_data(argument.substr(1));
    }
    const auto found = testing::command(it.arguments);
    std::string text;
    for (const char c : found.out + found.err) {
      const bool blank = c == ' ' || c == '\n';
      if (!blank || (!text.empty() && text.back() != ' ')) text += blank ? ' ' : c;
    }
    INFO(it.arguments.front() << " " << it.arguments.back() << "\n" << found.out << found.err);
    CHECK(found.code == it.code);
    for (const std::string& part : it.says) {
      INFO(part);
      CHECK(testing::contains(text, part));
    }
    for (const std::string& part : it.never) {
      INFO(part);
      CHECK_FALSE(testing::contains(text, part));
    }
  }
}

}  // namespace

TEST_CASE("scenarios after public reports have the answers that their authors found",
          "[reports][shared]") {
  if (testing::shared_data("").empty()) return;
  const std::string paddle = "@reports/Paddle_54431/interceptor.yaml";
  const std::string pippy = "@reports/PiPPy_1139/inference_abort.yaml";
  const std::string mpi = "@reports/TensorRT-LLM_10665/pp_loop.yaml";
  const std::string warmup = "@reports/TensorRT-LLM_13998/warmup.yaml";
  const std::string split = "@reports/xla_39372/split.yaml";
  check_answers({
      {{"run", paddle},
       1,
       {"DEADLOCK", "rank 0's send pp#1 (send_v2) waits for rank 1's recv pp#1"}},
      {{"run", paddle, "--set", "connected=on"}, 0, {"COMPLETED", "a fresh job"}},
      {{"check", pippy}, 1, {"HANG POSSIBLE", "rank 0, which has aborted the communicator"}},
      {{"check", pippy, "--set", "barrier=on"}, 0, {"PROVED", "proved in all three"}},
      {{"check", mpi},
       0,
       {"calls of the host that do not block advance by themselves. If they advance only while "
        "their ranks are in calls, as in MPI ('progress: in_calls'), this can hang"}},
      {{"check", mpi, "--set", "async_requests=off"}, 0, {"PROVED"}, {"assumes"}},
      {{"check", "@reports/TensorRT-LLM_10665/pp_loop_weak_progress.yaml"},
       1,
       {"HANG CERTAIN", "executor_request_queue.py:613 recv_object"}},
      {{"check", warmup}, 1, {"HANG POSSIBLE", "--set 'small=rank == 0'", "all_gather tp#1"}},
      {{"fix", warmup},
       0,
       {"with --set 'small=rank == 0'", "agree=on instead of off", "other ways or interleavings"}},
      {{"lint", warmup}, 1, {"warmup.yaml:16:11: ", "(with --set 'small=rank == 0')"}},
      {{"run", split}, 1, {"Ranks 2, 3, 6 and 7 never call split all.2#1 (gpu_cliques.cc"}},
      {{"lint", split},
       1,
       {"split.yaml:13:7: suspect: on ranks 2, 3, 6 and 7, 'split all.2' is never called"},
       {"split.yaml:10:7: suspect: on ranks"}},
      {{"lint", split, "--set", "by_key=on"}, 1, {}, {"[meeting]"}},
  });
}

TEST_CASE("an abort waits for the calls before it in its stream", "[reports][shared]") {
  const std::string path = testing::shared_data("reports/pytorch_150690/abort.yaml");
  if (path.empty()) return;
  const std::string stuck =
      "rank 1 abort right#1 (has not returned) blocks its host until recv left#1 is done";
  check_answers({{{"run", path, "--reading", "real", "--all"}, 1, {stuck}},
                 {{"why", path, "abort right#1", "--reading", "real"},
                  1,
                  {"blocks its host until recv left#1 is done"}}});
  const std::string text = testing::file_text(path);
  const std::string right = "      - {abort: right, at: \"ProcessGroupNCCL.cpp abort comm1\"}\n";
  const std::string left = "      - {abort: left, at: \"ProcessGroupNCCL.cpp abort comm0\"}\n";
  const std::size_t at = text.find(right + left);
  REQUIRE(at != std::string::npos);
  const testing::Folder folder;
  for (const std::string& aborts :
       {left + right, std::string("      - {abort: [right, left]}\n")}) {
    std::string other = text;
    other.replace(at, right.size() + left.size(), aborts);
    // Two ranks exit with an error, but rank 1 returns from its aborts.
    check_answers({{{"run", folder.write("abort.yaml", other), "--reading", "real"},
                    1,
                    {"CRASHED", "rank 1: GPU idle"},
                    {"now in abort", "HANGS"}}});
  }
}

TEST_CASE("inputs that once gave wrong answers give right ones", "[reports][shared]") {
  if (testing::shared_data("").empty()) return;
  check_answers({
      // Each op needs 8 of 132 SMs, the other 124 or 125: both fit, or only one.
      {{"check", "@faults3/h27_8_124.yaml", "--reading", "contract"}, 0, {"PROVED"}},
      {{"check", "@faults3/h27_8_125.yaml", "--reading", "contract"}, 1, {"HANG POSSIBLE"}},
      // A rank other than the root returns from a gather or scatter while a third rank is late.
      {{"check", "@faults3/gather_gloo.yaml"}, 0, {"PROVED"}},
      {{"check", "@faults3/gather_nccl.yaml"}, 0, {"PROVED"}},
      {{"check", "@faults3/x_gloo.yaml"}, 0, {"PROVED"}},
      {{"run", "@faults3/of_chain_plan.yaml"}, 0, {"COMPLETED"}},
      {{"run", "@faults3/of_order_in_chain_plan.yaml"}, 0, {"COMPLETED"}},
      // The executor takes at most 64 ops per thread block.
      {{"verify", "@faults3/p14_too_many_ops_rre.json"}, 2, {"77 ops in a thread block"}},
  });
}

TEST_CASE("each input in ../shared/data has a test that names it", "[reports][shared]") {
  if (testing::shared_data("").empty()) return;
  std::string sources;
  for (const char* folder : {"tests/scenarios", "tests/record", "tests/tools"}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string ending = entry.path().extension().string();
      if (ending == ".cpp" || ending == ".py") sources += testing::file_text(entry.path().string());
    }
  }
  for (const char* data : {"hung_jobs", "faults3", "reports"}) {
    for (const auto& entry : std::filesystem::directory_iterator(testing::shared_data(data))) {
      const std::string name = entry.path().filename().string();
      INFO(data << "/" << name);
      CHECK((name == "README.md" || testing::contains(sources, name + "/") ||
             testing::contains(sources, name + "\"")));
    }
  }
}
