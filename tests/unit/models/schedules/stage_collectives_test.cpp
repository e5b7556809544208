// Schedules of jobs with more dimensions than the pipeline. The comments derive the times by hand.
#include <cstdint>
#include <string>
#include <vector>

#include "models/result/pipeline_report.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"
#include "tests/support/scenario.hpp"

using namespace pipesim;
using testing::mistakes_in;

namespace {

std::int64_t makespan_us(const std::string& text) {
  const models::Simulation run = testing::simulate(testing::scenario_of(text).graph);
  REQUIRE(run.outcome.end == sim::RunEnd::kCompleted);
  return run.outcome.last_progress.ns / 1000;
}

// Returns the number of calls of each rank on the communicator.
std::vector<std::uint32_t> calls_over(const std::string& text, const std::string& communicator) {
  const models::TaskGraph graph = testing::scenario_of(text).graph;
  std::vector<std::uint32_t> calls(graph.ranks, 0);
  const models::Simulation run = testing::simulate(graph);
  for (const sim::ActorId id : ids_of(run.lowered.plan.actors)) {
    const models::ActorTemplate& actor = graph.actors[run.lowered.actor_template[id]];
    if (actor.step->calls.empty()) continue;
    const std::uint32_t index = actor.step->calls.front().communicator;
    if (graph.communicators[index].name != communicator) continue;
    calls[run.lowered.plan.actors[id].rank.value] += run.lowered.plan.actors[id].ops;
  }
  return calls;
}

}  // namespace

TEST_CASE("each pipeline of a job has its own messages", "[models][stage_collectives]") {
  // 1F1B with 4 stages and 8 micro-batches takes (8 + 4 - 1) * (2 + 4) us; neighbors are two ranks
  // apart.
  const std::string text = R"yaml(schema: 1
parallel: {pipeline: 4, tensor: 2}
schedule: {kind: 1f1b, micro_batches: 8, forward: 2us, messages: MODEL}
)yaml";
  for (const std::string model : {"dir", "edge", "pair", "direction", "pg"}) {
    std::string with = text;
    with.replace(with.find("MODEL"), 5, model);
    const models::TaskGraph graph = testing::scenario_of(with).graph;
    CHECK(graph.ranks == 8);
    sim::RunOptions options;
    options.keep_op_times = true;
    const models::Simulation run = testing::simulate(graph, options);
    CHECK(run.outcome.end == sim::RunEnd::kCompleted);
    if (model == "dir") CHECK(run.outcome.last_progress.ns == 66'000);
    // Each pipeline of the job alone takes the same time.
    std::string alone = with;
    alone.replace(alone.find("tensor: 2"), 9, "tensor: 1");
    CHECK(run.outcome.last_progress.ns == makespan_us(alone) * 1000);
    const auto report = models::pipeline_report(graph, run.lowered, run.outcome);
    REQUIRE(report.has_value());
    CHECK(report->ranks.size() == 8);
    for (std::size_t rank = 0; rank < 8; rank += 2) {
      CHECK(report->ranks[rank] == report->ranks[rank + 1]);
    }
  }
}

TEST_CASE("a forward waits for the collectives within it", "[models][stage_collectives]") {
  // Each forward takes 2 + 2 * 1 us, each backward 4 us: (8 + 3) * (4 + 4) us.
  CHECK(makespan_us(R"yaml(schema: 1
parallel: {pipeline: 4, tensor: 2}
schedule:
  kind: 1f1b
  micro_batches: 8
  forward: 2us
  messages: dir
  collectives: [{call: all_reduce, over: tensor, in: forward, times: 2, takes: 1us}]
)yaml") == 88);
  // Times and collectives apply to each of two layers: forwards take 2 * (1 + 1), backwards 2 * 2
  // us.
  CHECK(makespan_us(R"yaml(schema: 1
parallel: {pipeline: 4, tensor: 2}
schedule:
  kind: 1f1b
  micro_batches: 8
  layers: 8
  forward: 1us
  messages: dir
  collectives: [{call: all_reduce, over: tensor, in: forward, takes: 1us}]
)yaml") == 88);
}

TEST_CASE("a stage has the collectives of its own number of layers",
          "[models][stage_collectives]") {
  const std::string text = R"yaml(schema: 1
parallel: {pipeline: 2, tensor: 2}
schedule:
  kind: gpipe
  micro_batches: 3
  layers: [1, 3]
  forward: 1us
  messages: dir
  collectives:
    - {call: all_reduce, over: tensor, in: forward, times: 2, takes: 1us}
    - {call: all_reduce, over: tensor, in: backward, takes: 1us}
)yaml";
  // Each micro-batch makes 2 + 1 calls in the only layer of stage 0, and three times that number in
  // stage 1.
  CHECK(calls_over(text, "tensor") == std::vector<std::uint32_t>{9, 9, 27, 27});
  // Forwards take 1 + 2 and 3 + 6 us, backwards 2 + 1 and 6 + 3 us. Stage 1 runs three forwards and
  // three backwards, between one forward and one backward of stage 0.
  CHECK(makespan_us(text) == 3 + 3 * 9 + 3 * 9 + 3);
  // If each stage has two layers, each rank makes 3 * (2 + 1) * 2 calls.
  std::string even = text;
  even.replace(even.find("[1, 3]"), 6, "[2, 2]");
  CHECK(calls_over(even, "tensor") == std::vector<std::uint32_t>{18, 18, 18, 18});
}

TEST_CASE("collectives may differ by stage and micro-batch", "[models][stage_collectives]") {
  const std::string start = R"yaml(schema: 1
parallel: {pipeline: 1, tensor: 2}
schedule:
  kind: gpipe
  micro_batches: 3
  collectives: [{call: all_reduce, over: tensor, )yaml";
  // Forwards take 1 us with a call of 1, 2 and 3 us, and backwards 2 us: 3 + 6 + 6 us.
  CHECK(makespan_us(start + "in: forward, takes: 1us * (1 + micro_batch)}]\n") == 15);
  // Forwards take 1 us, and backwards 2 us with a call of 4, 5 and 6 us.
  CHECK(makespan_us(start + "in: backward, takes: [[4us, 5us, 6us]]}]\n") == 24);
  // The call comes after the last backward of the only stage.
  CHECK(makespan_us(start + "in: gradients, takes: [7us]}]\n") == 16);
  CHECK(mistakes_in(start + "in: gradients, takes: micro_batch * 1us}]\n") ==
        "6:72: unknown parameter 'micro_batch'\n  known here: stage\n");
}

TEST_CASE("actions that overlap hide each other's collectives", "[models][stage_collectives]") {
  const std::string costs = R"yaml(
  forward: 4us
  input_grad: 2us
  weight_grad: 2us
  collectives:
    - {call: all_to_all, over: expert, in: forward, takes: 3us}
    - {call: all_to_all, over: expert, in: backward, takes: 3us}
)yaml";
  const std::string head = "schema: 1\nparallel: {data: 2, expert: 2}\nschedule:\n  rows: ";
  // Without overlap, 4 actions take 2 + 3 + 2 us each.
  CHECK(makespan_us(head + "['0F0, 0F1, 0B0, 0B1']" + costs) == 28);
  // 0F1 and 0B0 overlap part by part. The forward runs 7-9 and 12-14, its call 9-12; the backward
  // runs 9-11 and 15-17, its call 12-15, queued behind the forward's call.
  CHECK(makespan_us(head + "['0F0, (0F1;0B0)OVERLAP_F_B, 0B1']" + costs) == 24);
}

TEST_CASE("FSDP gathers weights ahead and reduces gradients behind",
          "[models][stage_collectives]") {
  const std::string head = R"yaml(schema: 1
parallel: {data: 2}
schedule:
  kind: gpipe
  micro_batches: 2
  forward: 10us
  collectives:
)yaml";
  const std::string gather = "    - {call: all_gather, over: data, in: unshard, takes: 6us}\n";
  const std::string reduce =
      "    - {call: reduce_scatter, over: data, in: gradients, takes: 7us}\n";
  const std::string buckets =
      "    - {call: all_reduce, over: data, in: last_backward, times: 3, takes: 1us}\n";
  const std::string step = "    - {call: all_reduce, over: data, in: step, takes: 2us}\n";
  // The compute time is 2 * 10 + 2 * 20 us.
  CHECK(makespan_us(head + gather) == 66);
  CHECK(makespan_us(head + reduce) == 67);
  // The last backward is cut into 4 parts of 5 us, and the calls run in parallel.
  CHECK(makespan_us(head + buckets) == 60);
  CHECK(makespan_us(head + step) == 62);
  // All calls are on one communicator, one after the other; the gather ends before the compute
  // starts.
  CHECK(makespan_us(head + gather + reduce + buckets + step) == 6 + 60 + 7 + 2);
}

TEST_CASE("what a layout or a collective cannot be is reported in one sentence",
          "[models][stage_collectives]") {
  const std::string schedule = "schedule: {kind: 1f1b, micro_batches: 4, ";
  const auto with = [&](const std::string& parallel, const std::string& rest) {
    return mistakes_in("schema: 1\nparallel: {" + parallel + "}\n" + schedule + rest + "}\n");
  };
  CHECK(with("pipeline: 4", "stages: 8") ==
        "3:11: the schedule is for pipelines of 8 ranks, but 'parallel' has 4\n");
  CHECK(with("pipeline: 2, tensor: 0", "") ==
        "2:33: 'tensor' must be between 1 and 1048576, found 0\n");
  CHECK(with("pipeline: 2, order: tp-tp", "") ==
        "2:32: 'tp-tp' is not an order of dimensions\n"
        "  name each of them at most once, fastest first: 'tp-cp-ep-dp-pp'\n");
  CHECK(with("pipeline: 2, expert: 2", "") ==
        "2:11: 1 ranks of a stage (tensor x context x data) cannot be divided among 2 (expert x "
        "expert_tensor)\n");
  CHECK(with("pipeline: 2, tensor: 2, context: 2, expert: 4", "") ==
        "2:11: 4 ranks of a stage (tensor x context x data) cannot be divided among 8 (expert x "
        "expert_tensor)\n"
        "  each expert is shared by 2 ranks, as 'tensor' says: for whole experts say "
        "'expert_tensor: 1'\n");
  CHECK(with("pipeline: 2, data: 2", "collectives: [{call: all_reduce, over: dta, in: forward}]") ==
        "3:81: unknown group 'dta'\n  did you mean 'data'?\n");
  CHECK(mistakes_in("schema: 1\nranks: 3\nparallel: {pipeline: 2}\n" + schedule + "}\n") ==
        "2:8: the layout under 'parallel' needs 2 ranks, but 'ranks' is 3\n");
  CHECK(mistakes_in("schema: 1\nparallel: {pipeline: 2}\ngroups: {data: all}\n" + schedule +
                    "}\n") == "3:10: 'parallel' makes a group 'data' already\n");
}

TEST_CASE("programs use the groups of the layout, too", "[models][stage_collectives]") {
  const models::TaskGraph graph = testing::scenario_of(R"yaml(schema: 1
parallel: {tensor: 2, data: 2}
programs: {do: [{all_reduce: tensor, takes: 1us}, {all_reduce: data, takes: 1us}]}
)yaml")
                                      .graph;
  CHECK(graph.ranks == 4);
  CHECK(testing::simulate(graph).outcome.end == sim::RunEnd::kCompleted);
}
