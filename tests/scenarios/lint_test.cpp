// Findings of `pipesim lint` in every shipped scenario. The table was written from the text of each
// scenario before it was compared with the program: docs/reference/scenarios.md has the reasons.
#include "features/lint/lint.hpp"

#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/scenario.hpp"

using namespace pipesim;

namespace {

// Findings as lines "rule op".
using Findings = std::vector<std::string>;

Findings lint(const std::string& path, const testing::Settings& settings = {}) {
  std::vector<std::string> arguments = {"lint", path, "--json"};
  for (const auto& [name, value] : settings) {
    arguments.insert(arguments.end(), {"--set", fmt::format("{}={}", name, value)});
  }
  const testing::CommandResult result = testing::command(arguments);
  INFO(result.err);
  REQUIRE(result.code <= 1);
  Findings found;
  const auto report = nlohmann::json::parse(result.out);
  for (const auto& finding : report["findings"]) {
    const auto& ops = finding["ops"];
    found.push_back(finding["rule"].get<std::string>() +
                    (ops.empty() ? "" : " " + ops[0].get<std::string>()));
  }
  CHECK((result.code == 1) == !found.empty());
  return found;
}

struct Row {
  const char* scenario;
  Findings findings;
};

// Returns the findings in the default settings; scenarios that are not listed have none.
const std::vector<Row>& table() {
  static const std::vector<Row> kTable = {
      {"broadcast_root_ahead", {"message-order broadcast world"}},
      {"buffer_on_the_wrong_stream", {"buffer-stream buffer"}},
      {"compiled_recv_first", {"message-order recv ring"}},
      {"deepep_beside_nccl", {"group-order dispatch"}},
      {"deepspeed_loss_broadcast", {"collective-order total_loss"}},
      {"first_all_reduce_opposite_order", {"group-order all_reduce ep"}},
      {"graph_replay_without_buffers", {"send-first send pp"}},
      {"graphs_in_other_order", {"collective-order reduce draft"}},
      {"launch_blocking_hides", {"device-room all_reduce dp"}},
      {"launch_queue_full", {"group-order all_reduce norm", "host-sync synchronize nccl norm"}},
      {"launch_queue_of_device",
       {"group-order all_reduce norm", "host-sync synchronize nccl norm"}},
      {"nccl_order_1f1b_send_first", {"send-first send pp"}},
      {"gil_held_by_kernel_load", {"lock-held load forward"}},
      {"lock_order_gil_cuda", {"lock-order lock cuda", "lock-order lock gil.2"}},
      {"process_lock_of_two_devices", {"lock-held synchronize device"}},
      {"megatron_expert_overlap_hang", {"collective-order combine gradient1"}},
      {"ninth_small_send", {"send-first send pp"}},
      {"partial_sum_boxing", {"control-credits Repeat", "partial-sum Zeros"}},
      {"pipeline_rendezvous_hang", {"micro-batches", "send-first 0SEND_F"}},
      {"ray_cross_send", {"send-first send channel"}},
      {"rl_weight_sync", {"host-sync synchronize nccl ep"}},
      {"shrink_then_destroy", {"meeting destroy old"}},
      {"split_beside_all_reduce", {"split-pending split world"}},
      {"split_round_skipped", {"meeting round 0-1"}},
      {"symmetric_memory_collected", {"group-order all_reduce world"}},
      {"window_registered_on_one_rank", {"collective-branch register world.2"}},
      {"swin_2x2x2", {"control-credits Repeat", "partial-sum Zeros", "buffer-stream BdstBuf"}},
      {"swin_2x2x2_from_model",
       {"partial-sum Zeros-Repeat-block11-gather_nd-bias_table",
        "control-credits Repeat-block0-gather_nd-bias_table",
        "buffer-stream Buffer-block6-qk_grad-stage0"}},
      {"two_groups_opposite_order", {"device-room all_reduce dp"}},
      {"vllm_idle_rank", {"collective-branch dispatch.2"}},
      {"watchdog_takes_process_down", {"collective-branch all_reduce world.2"}},
  };
  return kTable;
}

}  // namespace

TEST_CASE("lint of every shipped scenario", "[scenarios][lint]") {
  std::size_t with_findings = 0;
  for (const std::string& path : testing::scenario_paths()) {
    INFO(path);
    Findings expected;
    for (const Row& row : table()) {
      if (path == "scenarios/" + std::string(row.scenario) + ".yaml") expected = row.findings;
    }
    if (!expected.empty()) ++with_findings;
    CHECK(lint(path) == expected);
  }
  CHECK(with_findings == table().size());
}

TEST_CASE("the catalogue names the rules that lint finds in each scenario", "[scenarios][lint]") {
  std::set<std::string> rules;
  for (const models::LintRule& rule : models::lint_rules()) rules.emplace(rule.name);
  const std::vector<testing::CatalogueRow> rows = testing::catalogue();
  CHECK(rows.size() > 35);
  for (const testing::CatalogueRow& row : rows) {
    INFO(row.scenario << ": " << row.lint);
    std::set<std::string> named;
    for (const std::string& code : testing::quoted_code(row.lint)) {
      if (rules.contains(code)) named.insert(code);
    }
    std::set<std::string> found;
    for (const Row& of_table : table()) {
      if (of_table.scenario != row.scenario) continue;
      for (const std::string& it : of_table.findings) found.insert(it.substr(0, it.find(' ')));
    }
    CHECK(named == found);
    CHECK(named.empty() == row.lint.starts_with("nothing"));
  }
}

TEST_CASE("lint says nothing more of what a setting has put right", "[scenarios][lint]") {
  const std::string swin = "scenarios/swin_2x2x2.yaml";
  const std::string credits = "control-credits Repeat";
  const std::string sum = "partial-sum Zeros";
  const std::string stream = "buffer-stream BdstBuf";
  CHECK(lint(swin, {{"bwd_dst_buffer", "backward"}}) == Findings{credits, sum});
  CHECK(lint(swin, {{"bwd_dst_buffer", "own"}}) == Findings{credits, sum});
  CHECK(lint(swin, {{"repeat_ctrl_credits", "4"}}) == Findings{sum, stream});
  CHECK(lint(swin, {{"zeros_on_rank_0", "on"}}) == Findings{credits, stream});
  // In these settings, the stream of the buffer has no collectives.
  CHECK(lint(swin, {{"forward_stream", "own"}}) == Findings{credits, sum});
  CHECK(lint(swin, {{"nccl_use_compute_stream", "off"}}) == Findings{credits, sum});

  const std::string model = "scenarios/swin_2x2x2_from_model.yaml";
  CHECK(lint(model, {{"acc", "3"}}).size() == 4);  // one is about micro-batches
  CHECK(lint(model, {{"acc", "3"}}).back() == "micro-batches");
  CHECK(lint(model, {{"buffer_stream", "reader"}}).size() == 2);
  CHECK(lint(model, {{"repeat_control_slots", "0"}}).size() == 2);
  CHECK(lint(model, {{"zeros", "all"}}).size() == 2);

  CHECK(lint("scenarios/two_groups_opposite_order.yaml", {{"room", "2"}}).empty());
  CHECK(lint("scenarios/two_groups_opposite_order.yaml", {{"launch_order", "implicit"}}).empty());
  CHECK(lint("scenarios/launch_blocking_hides.yaml", {{"launch_blocking", "on"}}).empty());
  CHECK(lint("scenarios/deepspeed_loss_broadcast.yaml", {{"loss_dtype", "float32"}}).empty());
  CHECK(lint("scenarios/watchdog_takes_process_down.yaml", {{"uneven", "off"}}).empty());
  CHECK(lint("scenarios/pipeline_1f1b.yaml", {{"micro_batches", "7"}}) ==
        Findings{"micro-batches"});
}
