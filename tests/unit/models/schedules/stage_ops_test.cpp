// Forwards and backwards op by op. The orders come from Megatron-LM's TransformerLayerSchedulePlan
// (megatron/core/models/common/model_chunk_schedule_plan.py at 01cf4fb5):
//
//   comm_stream: combine_bwd | dispatch_fwd->dispatch_bwd   | combine_fwd
//   comp_stream: attn_fwd    | mlp_bwd->mlp_bwd_dw->mlp_fwd | attn_bwd
//
// The comments derive the times by hand.
#include "models/schedules/stage_ops.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "models/result/pipeline_report.hpp"
#include "models/result/timeline.hpp"
#include "sim/interleavings/exploration.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"
#include "tests/support/scenario.hpp"

#include "features/check/check.hpp"

using namespace pipesim;
using testing::mistakes_in;

namespace {

using Names = std::vector<std::string>;

const std::string kOps = R"yaml(
  ops:
    forward:
      - {compute: attention, takes: 4us}
      - {call: all_to_all, over: expert, name: dispatch, takes: 3us}
      - {compute: mlp, takes: 5us}
      - {call: all_to_all, over: expert, name: combine, takes: 3us}
    backward:
      - {call: all_to_all, over: expert, name: combine, takes: 3us}
      - {compute: mlp, takes: 6us}
      - {compute: mlp_dw, takes: 2us, weight_grad: on}
      - {call: all_to_all, over: expert, name: dispatch, takes: 3us}
      - {compute: attention, takes: 7us}
)yaml";
const std::string kMegatron = "    overlapped: megatron\n";
const std::string kHead = "schema: 1\nparallel: {data: 2, expert: 2}\nschedule:\n  rows: ";
const std::string kRows = "['0F0, (0F1;0B0)OVERLAP_F_B, 0B1']";

struct OpsRun {
  models::TaskGraph graph;
  models::Simulation run;

  explicit OpsRun(const std::string& text)
      : graph(testing::scenario_of(text).graph), run(testing::simulate(graph, options())) {
    REQUIRE(run.outcome.end == sim::RunEnd::kCompleted);
  }

  static sim::RunOptions options() {
    sim::RunOptions kept;
    kept.keep_op_times = true;
    return kept;
  }

  std::int64_t makespan_us() const { return run.outcome.last_progress.ns / 1000; }

  // Returns the ops that rank 0 starts on a stream, in order. Skips ops whose name lacks `part`.
  Names starts(const std::string& stream, const std::string& part = "") const {
    std::vector<std::tuple<std::int64_t, std::uint32_t, std::string>> found;
    for (const sim::ActorId id : ids_of(run.lowered.plan.actors)) {
      const sim::Actor& actor = run.lowered.plan.actors[id];
      const std::uint32_t on = graph.actors[run.lowered.actor_template[id]].stream;
      if (actor.rank.value != 0 || on == models::kNoIndex) continue;
      if (graph.streams[on].name != stream) continue;
      for (std::uint32_t k = 0; k < actor.ops; ++k) {
        const std::string name = models::op_label(graph, run.lowered, id, k);
        if (name.find(part) == std::string::npos) continue;
        found.emplace_back(run.outcome.op_times.of(id, k).start.ns, id.value, name);
      }
    }
    std::sort(found.begin(), found.end());
    Names names;
    for (const auto& [time, id, name] : found) names.push_back(name);
    return names;
  }
};

}  // namespace

TEST_CASE("ops that overlap start in Megatron's order on both streams", "[models][stage_ops]") {
  const OpsRun one(kHead + kRows + kOps + kMegatron);
  CHECK(one.starts("compute") ==
        Names{"attention of 0F0", "mlp of 0F0", "end of 0F0", "attention of 0F1", "mlp of 0B0",
              "mlp_dw of 0B0", "mlp of 0F1", "attention of 0B0", "end of (0F1;0B0)OVERLAP_F_B",
              "mlp of 0B1", "mlp_dw of 0B1", "attention of 0B1"});
  CHECK(one.starts("nccl expert") == Names{"dispatch of 0F0", "combine of 0F0", "combine of 0B0",
                                           "dispatch of 0F1", "dispatch of 0B0", "combine of 0F1",
                                           "combine of 0B1", "dispatch of 0B1"});
  // 0F0 runs alone, one op after the other: 4 + 3 + 5 + 3 = 15 us. Then combine_bwd 15-18 during
  // attn_fwd 15-19; mlp_bwd 19-25, mlp_dw 25-27 and mlp_fwd 27-32 during dispatch_fwd 19-22 and
  // dispatch_bwd 25-28; attn_bwd 32-39 during combine_fwd 32-35. 0B1: combine 39-42, mlp 42-48,
  // dispatch 48-51 during mlp_dw, attention 51-58.
  CHECK(one.makespan_us() == 58);
  const auto report = models::pipeline_report(one.graph, one.run.lowered, one.run.outcome);
  REQUIRE(report.has_value());
  CHECK(report->makespan_ns == 58'000);
  CHECK(report->ranks[0].busy_ns == 58'000);
}

// Follows TransformerModelChunkSchedulePlan.run: layers of both directions run as pairs, then the
// remaining layers of the backward or the forward.
TEST_CASE("stages of a slot may have different numbers of layers", "[models][stage_ops]") {
  const auto in_slot = [](const OpsRun& run, const std::string& stream, const std::string& forward,
                          const std::string& backward) {
    Names names = run.starts(stream);
    names.erase(std::remove_if(names.begin(), names.end(),
                               [&](const std::string& name) {
                                 return !name.starts_with("layer ") ||
                                        !(name.ends_with(forward) || name.ends_with(backward));
                               }),
                names.end());
    return names;
  };
  const std::string rows =
      "['0F0, 1F0, 0F1, 1B0, (1F1;0B0)OVERLAP_F_B, 0F2, (0F3;1B1)OVERLAP_F_B, 1F2, 1F3, 0B1, 1B2, "
      "0B2, 1B3, 0B3']\n  layers: [1, 2]";
  const OpsRun run(kHead + rows + kOps + kMegatron);
  CHECK(in_slot(run, "compute", "1F1", "0B0") ==
        Names{"layer 1 attention of 1F1", "layer 1 mlp of 0B0", "layer 1 mlp_dw of 0B0",
              "layer 1 mlp of 1F1", "layer 1 attention of 0B0", "layer 2 attention of 1F1",
              "layer 2 mlp of 1F1"});
  CHECK(in_slot(run, "nccl expert", "1F1", "0B0") ==
        Names{"layer 1 combine of 0B0", "layer 1 dispatch of 1F1", "layer 1 dispatch of 0B0",
              "layer 1 combine of 1F1", "layer 2 dispatch of 1F1", "layer 2 combine of 1F1"});
  CHECK(in_slot(run, "compute", "0F3", "1B1") ==
        Names{"layer 1 attention of 0F3", "layer 2 mlp of 1B1", "layer 2 mlp_dw of 1B1",
              "layer 1 mlp of 0F3", "layer 2 attention of 1B1", "layer 1 mlp of 1B1",
              "layer 1 mlp_dw of 1B1", "layer 1 attention of 1B1"});
}

TEST_CASE("each layer of a slot is in the same order, the backward's from the last",
          "[models][stage_ops]") {
  const OpsRun three(kHead + kRows + "\n  layers: 3" + kOps + kMegatron);
  Names compute;
  Names calls;
  const auto add = [](Names& names, int layer, const std::string& op) {
    names.push_back("layer " + std::to_string(layer) + " " + op);
  };
  for (int layer = 1; layer <= 3; ++layer) {
    const int back = 4 - layer;
    add(compute, layer, "attention of 0F1");
    add(compute, back, "mlp of 0B0");
    add(compute, back, "mlp_dw of 0B0");
    add(compute, layer, "mlp of 0F1");
    add(compute, back, "attention of 0B0");
    add(calls, back, "combine of 0B0");
    add(calls, layer, "dispatch of 0F1");
    add(calls, back, "dispatch of 0B0");
    add(calls, layer, "combine of 0F1");
  }
  const auto in_slot = [](Names names) {
    names.erase(std::remove_if(names.begin(), names.end(),
                               [](const std::string& name) {
                                 return !name.starts_with("layer ") ||
                                        !(name.ends_with("0F1") || name.ends_with("0B0"));
                               }),
                names.end());
    return names;
  };
  CHECK(in_slot(three.starts("compute")) == compute);
  CHECK(in_slot(three.starts("nccl expert")) == calls);
  // 0F0 takes 3 * 15 = 45 us. A layer of the slot takes 24 us as above, but the next attn_fwd and
  // the next combine_bwd start only when attn_bwd ends, because combine_bwd also needs attn_bwd.
  // That makes 45 + 3 * 24 = 117 us. 0B1 takes 3 * 19 = 57 us.
  CHECK(three.makespan_us() == 174);
}

TEST_CASE("an order of one's own, and none", "[models][stage_ops]") {
  // The ops run one after the other, without overlap.
  const OpsRun own(kHead + kRows + kOps +
                   "    overlapped: [F.attention, F.dispatch, F.mlp, F.combine, B.combine, B.mlp, "
                   "B.mlp_dw, B.dispatch, B.attention]\n");
  // The sum is 15 + 15 + 19 + 19 us.
  CHECK(own.makespan_us() == 68);
  // Unless `overlapped` is given, ops of both directions run in turn, and the direction that starts
  // with a call is first: combine_bwd, attn_fwd, mlp_bwd, dispatch_fwd, ...
  const OpsRun turns(kHead + kRows + kOps);
  CHECK(turns.starts("nccl expert", "0F1").size() == 2);
  CHECK(turns.starts("compute")[3] == "attention of 0F1");
  CHECK(turns.starts("nccl expert")[2] == "combine of 0B0");
  CHECK(turns.starts("nccl expert")[3] == "dispatch of 0F1");
}

TEST_CASE("ops in schedules that split the backward, in pipelines both ways and with buckets",
          "[models][stage_ops]") {
  const std::string buckets =
      "  collectives: [{call: all_reduce, over: data, in: last_backward, takes: 1us}]\n";
  for (const std::string kind : {"1f1b", "zb1p", "zbv_greedy", "dualpipe_v", "dualpipe",
                                 "interleaved_1f1b, chunks: 2, combined: on"}) {
    INFO(kind);
    const bool two = kind != "1f1b" && kind != "zb1p" && kind != "dualpipe";
    const std::string text =
        "schema: 1\nparallel: {pipeline: 4, data: 2, expert: 2}\nschedule:\n" +
        fmt::format("  kind: {}\n{}  micro_batches: 8\n  messages: edge\n  layers: {}\n{}{}{}",
                    kind.substr(0, kind.find(',')),
                    kind.find(',') == std::string::npos ? "" : "  chunks: 2\n  combined: on\n",
                    two ? 16 : 8, buckets, kOps.substr(1), kMegatron);
    const OpsRun run(text);
    CHECK(run.starts("compute", "layer 2 attention of ").size() >= 16);
  }
}

TEST_CASE("check proves a job with ops", "[models][stage_ops]") {
  for (const std::string kind : {"1f1b", "dualpipe"}) {
    const models::TaskGraph graph =
        testing::scenario_of(
            fmt::format("schema: 1\nparallel: {{pipeline: 2, data: 2, expert: 2}}\nschedule:\n"
                        "  kind: {}\n  micro_batches: 4\n  messages: edge\n{}{}",
                        kind, kOps.substr(1), kMegatron))
            .graph;
    models::Diagnostics diagnostics;
    auto lowered = models::lower(graph, diagnostics);
    REQUIRE(lowered);
    const models::CheckReport report =
        models::check(graph, std::move(*lowered), sim::ExploreOptions());
    CHECK(report.exploration.answer == sim::Answer::kProved);
  }
}

TEST_CASE("what ops cannot be is reported in one sentence", "[models][stage_ops]") {
  const std::string text = kHead + kRows + kOps;
  CHECK(mistakes_in(text + "    overlapped: dualpipe\n").find("megatron") != std::string::npos);
  CHECK(mistakes_in(text + "    overlapped: [F.atention]\n") ==
        "17:18: unknown op 'F.atention'\n  did you mean 'F.attention'?\n");
  CHECK(mistakes_in(text + "    overlapped: [F.mlp]\n") ==
        "17:17: 'overlapped' has 'F.mlp' before 'F.attention', for which it waits\n");
  CHECK(mistakes_in(text + "    overlapped: [F.attention, F.attention]\n") ==
        "17:17: 'overlapped' has op 'F.attention' twice\n");
  CHECK(mistakes_in(text + "    overlapped: [F.attention]\n") ==
        "17:17: 'overlapped' lacks op 'F.dispatch'\n");
  CHECK(mistakes_in(text + "  forward: 1us\n") ==
        "17:12: 'forward' cannot be used with 'ops'\n"
        "  costs are those of the ops: leave it out\n");
  CHECK(mistakes_in(kHead + kRows +
                    "\n  ops: {forward: [{compute: a}, {compute: a}], backward: [{compute: b}]}\n")
            .find("'forward' has two ops 'a'") != std::string::npos);
}
