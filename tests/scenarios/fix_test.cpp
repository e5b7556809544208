// Fixes of `pipesim fix` for the shipped scenarios. The tables were written from what is known of
// each hang (its scenario, docs/reference/scenarios.md; for swin_2x2x2, the findings of OneFlow's
// engineers), not from the program's output.
#include <algorithm>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "formats/scenario/scenario.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/scenario.hpp"

using namespace pipesim;

namespace {

using Json = nlohmann::json;

Json fix(const std::string& scenario) {
  const auto result = testing::command({"fix", "scenarios/" + scenario + ".yaml", "--json"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  return Json::parse(result.out);
}

std::string patch_of(const Json& change) { return change["patch"].get<std::string>(); }

// Returns the patches without their first line, "patch: 1".
std::vector<std::string> patches_in(const Json& changes) {
  std::vector<std::string> patches;
  for (const Json& change : changes) {
    const std::string patch = patch_of(change);
    patches.push_back(patch.substr(patch.find('\n') + 1));
  }
  return patches;
}

bool has(const std::vector<std::string>& patches, const std::string& patch) {
  return std::find(patches.begin(), patches.end(), patch) != patches.end();
}

// Checks that each patch applies and that its run completes at the reported time.
void check_patches(const std::string& scenario, const Json& report) {
  for (const Json& change : report["fixes"]) {
    INFO(scenario << ": " << change["text"]);
    models::Diagnostics diagnostics;
    formats::ReadOptions options;
    options.patches.push_back({"a patch", patch_of(change)});
    const auto changed = formats::read_scenario(
        testing::file_text("scenarios/" + scenario + ".yaml"), {}, diagnostics, options);
    INFO(testing::text_of(diagnostics));
    REQUIRE(changed);
    const models::Explanation end = testing::simulate(changed->graph).explanation;
    CHECK(end.verdict == sim::Verdict::kCompleted);
    CHECK(end.time_ns == change["time_ns"].get<std::int64_t>());
  }
}

}  // namespace

// NCCL's collective takes 16 of 132 SMs. fix lowers `dispatch` to the remaining 116 SMs, which
// leaves the amount of work unchanged.
TEST_CASE("fix: of deepep_beside_nccl the SMs that NCCL leaves", "[scenarios][fix]") {
  const Json report = fix("deepep_beside_nccl");
  CHECK(has(patches_in(report["fixes"]), "set: {dispatch: 116}\n"));
  CHECK(report["fixes"][0]["text"] == "one_order=on instead of off");
}

// Each change below alone removes the hang. Communicators initialized at the start
// (#8263) do not: the wait for the initialization becomes a wait for the peer.
TEST_CASE("fix: of swin_2x2x2 what OneFlow's engineers found", "[scenarios][fix]") {
  const Json report = fix("swin_2x2x2");
  const std::vector<std::string> patches = patches_in(report["fixes"]);
  CHECK(has(patches, "set: {bwd_dst_buffer: backward}\n"));
  CHECK(has(patches, "set: {bwd_dst_buffer: own}\n"));           // #8087
  CHECK(has(patches, "set: {forward_stream: own}\n"));           // #8226, first part
  CHECK(has(patches, "set: {repeat_ctrl_credits: 3}\n"));        // #8226, second part
  CHECK(has(patches, "set: {nccl_use_compute_stream: off}\n"));  // advice of OneFlow's engineers
  CHECK_FALSE(has(patches, "set: {comm_creation: start}\n"));
  CHECK_FALSE(has(patches, "communicators: {creation: start}\n"));
  CHECK(report["partial"].empty());
  for (const Json& change : report["fixes"]) CHECK(change["certainty"] == "proved");
  // The wait of the cycle that the fix breaks: wait 10 is the stream order of the buffer, wait 4
  // the control credit of Repeat.
  for (const Json& change : report["fixes"]) {
    const std::string patch = patch_of(change);
    if (testing::contains(patch, "bwd_dst_buffer")) CHECK(change["wait"] == 10);
    if (testing::contains(patch, "repeat_ctrl_credits")) CHECK(change["wait"] == 4);
  }
  // Each of two ranks takes the kernel slot that the other needs: waits 1 and 3 of the cycle.
  const Json opposite = fix("two_groups_opposite_order");
  for (const Json& change : opposite["fixes"]) {
    if (testing::contains(patch_of(change), "room: 2")) CHECK(change["waits"] == Json({1, 3}));
  }
  check_patches("swin_2x2x2", report);
}

TEST_CASE("fix: of each hang what its scenario says of it", "[scenarios][fix]") {
  struct Row {
    const char* scenario;
    std::vector<std::string> patches;  // among the fixes found
    bool proved;                       // whether the first fix is proved
  };
  const std::vector<Row> rows = {
      // The last patch: with two slots for `gather`, rank 0 gets no further ahead than rank 1,
      // whose table has two slots.
      {"buffer_on_the_wrong_stream",
       {"actors: {buffer: {stream: backward}}\n", "actors: {table: {slots: 3}}\n",
        "actors: {gather: {slots: 2}}\n"},
       true},
      {"deepspeed_loss_broadcast", {"set: {loss_dtype: float32}\n"}, true},
      {"fsdp_checkpoint_cma", {"set: {ptrace_scope: 0}\n", "set: {fallback: on}\n"}, false},
      {"infiniband_not_connected", {"set: {nccl_ib_disable: on}\n"}, false},
      {"launch_blocking_hangs", {"set: {launch_blocking: off}\n"}, true},
      {"launch_blocking_hides", {"device: {resident: 2}\n", "set: {launch_blocking: on}\n"}, true},
      // A queue of the device must hold an all-reduce, 1200 kernels and the next all-reduce.
      {"launch_queue_full", {"set: {depth: 1202}\n"}, true},
      // Each of 600 kernels makes four launches on the device: the kernel, a record, a wait and the
      // copy.
      {"launch_queue_of_device", {"set: {device_queue: 2402}\n"}, true},
      {"nccl_order_1f1b_send_first", {"set: {batched: on}\n"}, true},
      {"pipeline_rendezvous_hang", {"set: {messages: dir}\n"}, true},
      {"rank_segfault", {"set: {fault: none}\n"}, false},
      {"rendezvous_port_closed", {"set: {firewall: off}\n"}, false},
      {"rendezvous_wrong_interface", {"set: {interface: eth0}\n"}, false},
      {"two_groups_opposite_order",
       {"set: {room: 2}\n", "set: {launch_order: implicit}\n",
        "programs: {do: {4: {after: [nccl tp]}}}\n"},
       true},
      {"watchdog_takes_process_down", {"set: {uneven: off}\n"}, false},
  };
  for (const Row& row : rows) {
    INFO(row.scenario);
    const Json report = fix(row.scenario);
    const std::vector<std::string> patches = patches_in(report["fixes"]);
    for (const std::string& patch : row.patches) {
      INFO(patch);
      CHECK(has(patches, patch));
    }
    REQUIRE_FALSE(patches.empty());
    CHECK((report["fixes"][0]["certainty"] == "proved") == row.proved);
    check_patches(row.scenario, report);
  }
}

// fix prefers the authors' fix (vllm#51984) to a step without an idle rank.
TEST_CASE("fix: of vllm_idle_rank the dummy batch", "[scenarios][fix]") {
  CHECK(fix("vllm_idle_rank")["fixes"][0]["text"] == "dummy=on instead of off");
}
