// The key `schedule:`: its values, and one clear message for each invalid one.
#include "formats/scenario/schedule_reader.hpp"

#include <string>

#include "formats/scenario/schedule_csv.hpp"
#include "models/result/memory.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"
#include "tests/support/pipeline.hpp"
#include "tests/support/scenario.hpp"

using namespace pipesim;
using testing::mistakes_in;

namespace {

std::string schedule(const std::string& fields) {
  return "schema: 1\nschedule: {" + fields + "}\n";
}

}  // namespace

TEST_CASE("a schedule says how many ranks there are", "[formats][schedule_reader]") {
  const std::string four = schedule("kind: zbv, stages: 8, micro_batches: 8");
  CHECK(testing::scenario_of(four).graph.ranks == 4);
  CHECK(testing::scenario_of("ranks: 4\n" + four).graph.ranks == 4);
  CHECK(mistakes_in("ranks: 3\n" + four) == "1:8: the schedule needs 4 ranks, but 'ranks' is 3\n");
}

TEST_CASE("costs are of each stage, or of a layer", "[formats][schedule_reader]") {
  const auto stages = [](const std::string& fields) {
    const std::string text = schedule("kind: 1f1b, stages: 2, micro_batches: 2, " + fields);
    return testing::scenario_of(text).graph.pipeline->costs;
  };
  const auto each = stages("forward: [1ms, 2ms], weight_grad: 3ms, activation: 2B");
  CHECK(each[0].forward_ns == 1'000'000);
  CHECK(each[1].forward_ns == 2'000'000);
  CHECK(each[1].input_grad_ns == 2'000'000);
  CHECK(each[0].weight_grad_ns == 3'000'000);
  CHECK(each[1].activation_bytes == 2);
  const auto layers = stages("layers: 6, forward: 1us, weights: 5B");
  CHECK(layers[1].forward_ns == 3'000);
  CHECK(layers[1].weight_bytes == 15);
}

TEST_CASE("stages may have different numbers of layers", "[formats][schedule_reader]") {
  const std::string start = "kind: 1f1b, stages: 3, micro_batches: 4, ";
  const auto pipeline = [&](const std::string& fields) {
    return *testing::scenario_of(schedule(start + fields)).graph.pipeline;
  };
  const auto list = pipeline("layers: [1, 2, 4], forward: 1us, weights: [5B, 5B, 6B]");
  CHECK(list.cost(0, 0).forward_ns == 1'000);
  CHECK(list.cost(1, 0).forward_ns == 2'000);
  CHECK(list.cost(2, 0).input_grad_ns == 4'000);
  CHECK(list.cost(1, 0).weight_bytes == 10);
  CHECK(list.cost(2, 0).weight_bytes == 24);
  const auto formula = pipeline("layers: 2 + stage, forward: 1us * (1 + stage)");
  CHECK(formula.cost(0, 0).forward_ns == 2'000);
  CHECK(formula.cost(2, 0).forward_ns == 12'000);
  CHECK(mistakes_in(schedule(start + "layers: [1, 2]")) ==
        "2:61: 'layers' has 2 values, but there are 3 stages\n");
  CHECK(mistakes_in(schedule(start + "layers: [1, 0, 2]")) ==
        "2:65: 'layers' of a stage must be between 1 and 16384, found 0\n");
  CHECK(mistakes_in(schedule(start + "layers: stages")) ==
        "2:61: unknown parameter 'stages'\n  did you mean 'stage'?\n");
}

TEST_CASE("costs may differ by micro-batch", "[formats][schedule_reader]") {
  const auto pipeline = [](const std::string& fields) {
    const std::string text = schedule("kind: gpipe, stages: 2, micro_batches: 3, " + fields);
    return *testing::scenario_of(text).graph.pipeline;
  };
  const auto expressions = pipeline("forward: 1us + stage * 10us + micro_batch * 100us");
  CHECK(expressions.cost(0, 0).forward_ns == 1'000);
  CHECK(expressions.cost(1, 2).forward_ns == 211'000);
  CHECK(expressions.cost(1, 2).input_grad_ns == 211'000);
  const auto lists = pipeline("forward: [[1us, 2us, 3us], 9us], weights: stage * 5B");
  CHECK(lists.cost(0, 1).forward_ns == 2'000);
  CHECK(lists.cost(1, 1).forward_ns == 9'000);
  CHECK(lists.cost(1, 1).weight_bytes == 5);
  CHECK_FALSE(pipeline("forward: 1us + stage * 10us").costs_differ);
  const std::string start = "kind: gpipe, stages: 2, micro_batches: 3, ";
  CHECK(mistakes_in(schedule(start + "forward: [[1us, 2us], 9us]")) ==
        "2:64: 'forward' has 2 values, but there are 3 micro-batches\n");
  CHECK(mistakes_in(schedule(start + "forward: stages * 1us")) ==
        "2:63: unknown parameter 'stages'\n  did you mean 'stage'?\n");
}

// One rank runs 3 forwards of 1, 2 and 3 us, and backwards of twice these times.
TEST_CASE("micro-batches of other sizes take other times", "[formats][schedule_reader]") {
  const std::string text =
      schedule("kind: gpipe, stages: 1, micro_batches: 3, forward: 1us + micro_batch * 1us");
  CHECK(testing::simulate(testing::scenario_of(text).graph).outcome.last_progress.ns == 18'000);
}

// Two stages, with forwards of 1 us and backwards of 2 us. The first message takes 10 us in each
// direction; the second message takes 20 us and is queued behind the first.
TEST_CASE("messages may differ by micro-batch", "[formats][schedule_reader]") {
  const auto end_us = [](const std::string& messages) {
    const std::string text = schedule(
        "kind: gpipe, stages: 2, micro_batches: 2, message_takes: [[10us, 20us]], " + messages);
    return testing::simulate(testing::scenario_of(text).graph).outcome.last_progress.ns / 1000;
  };
  // The activations arrive at 1 + 10 and 11 + 20 us. Backwards start at 32 us, and their messages
  // arrive at 34 + 10 and 44 + 20 us, before the last backward. Recvs are posted early, so a
  // waiting send does not block them.
  CHECK(end_us("messages: dir") == 66);
  CHECK(end_us("messages: edge") == 66);
}

TEST_CASE("messages may differ by stage", "[formats][schedule_reader]") {
  const std::string start = "kind: gpipe, stages: 3, micro_batches: 2, ";
  const auto pipeline = [&](const std::string& fields) {
    return *testing::scenario_of(schedule(start + fields)).graph.pipeline;
  };
  const auto sizes = pipeline("message: [1KiB, 2KiB]").message_bytes.value();
  CHECK(sizes.of(0, 1) == 1024);
  CHECK(sizes.of(1, 0) == 2048);
  CHECK_FALSE(sizes.by_micro_batch());
  CHECK(pipeline("message: 1KiB * (1 + micro_batch + stage)").message_bytes->of(1, 1) == 3072);
  CHECK(pipeline("message: 1KiB").message_bytes->of(1, 1) == 1024);
  // One micro-batch goes in both directions: 1 + 5 + 1 + 7 + 1 + 2 + 7 + 2 + 5 + 2 us.
  const std::string one =
      schedule("kind: gpipe, stages: 3, micro_batches: 1, message_takes: [5us, 7us]");
  CHECK(testing::simulate(testing::scenario_of(one).graph).outcome.last_progress.ns == 33'000);
  CHECK(mistakes_in(schedule(start + "message: [1KiB]")) ==
        "2:63: 'message' has 1 value, but there are 2 pairs of neighboring stages\n");
}

// A forward of 1 us and a backward of 2 us run alone. Between them, two overlapped pairs take 5 and
// 6 us.
TEST_CASE("what overlaps may differ by the forward's micro-batch", "[formats][schedule_reader]") {
  const std::string text = schedule(
      "overlapped: 4us + micro_batch * 1us, "
      "rows: [\"0F0,(0F1;0B0)OVERLAP_F_B,(0F2;0B1)OVERLAP_F_B,0B2\"]");
  CHECK(testing::simulate(testing::scenario_of(text).graph).outcome.last_progress.ns == 14'000);
}

// A forward of stage 1 with two layers overlaps a backward of stage 0 with one layer, for 2 * 5 us.
// Alone, forwards take 2 and 1 us, backwards 2 and 4 us.
TEST_CASE("what overlaps takes as many layers as its forward has", "[formats][schedule_reader]") {
  const std::string text = schedule(
      "layers: [1, 2], overlapped: 5us, rows: [\"0F0,1F0,0F1,1B0,(1F1;0B0)OVERLAP_F_B,1B1,0B1\"]");
  CHECK(testing::simulate(testing::scenario_of(text).graph).outcome.last_progress.ns ==
        (1 + 2 + 1 + 4 + 10 + 4 + 2) * 1'000);
}

TEST_CASE("layouts that cannot be are reported in one sentence", "[formats][schedule_reader]") {
  const std::string start = "kind: 1f1b, stages: 4, micro_batches: 8, ";
  CHECK(mistakes_in(schedule(start + "layers: 3")) ==
        "2:61: 4 stages cannot share 3 layers: each needs at least one\n");
  CHECK(mistakes_in(schedule(start + "layers: 6")) ==
        "2:61: 6 layers cannot be divided among 4 stages\n"
        "  where stages differ, give the layers of each: layers: [2, 2, 1, 1]\n");
  CHECK(mistakes_in(schedule(start + "chunks: 2")) ==
        "2:61: 1f1b has 1 chunk on each rank, found 2\n");
  CHECK(mistakes_in(schedule(start + "forward: [1us, 2us]")) ==
        "2:62: 'forward' has 2 values, but there are 4 stages\n");
  CHECK(mistakes_in(schedule("kind: interleaved_1f1b, stages: 8, micro_batches: 9")) ==
        "2:62: interleaved_1f1b on 4 ranks takes its micro-batches in 2 rounds, but 9 is not "
        "divisible by that\n");
  CHECK(
      mistakes_in(schedule("kind: 1f1b, stages: 8000, micro_batches: 60000")) ==
      "2:32: a schedule can have at most 40000000 forwards and backwards, and 8000 stages of 60000 "
      "micro-batches are more\n");
}

TEST_CASE("what is missing or too much is reported", "[formats][schedule_reader]") {
  CHECK(mistakes_in(schedule("stages: 2")) == "2:11: a schedule needs 'kind' or 'rows'\n");
  CHECK(mistakes_in(schedule("kind: 1f1b, rows: [\"0F0,0B0\"]")) ==
        "2:11: 'kind' and 'rows' cannot be used together\n");
  CHECK(mistakes_in(schedule("rows: 0F0")) ==
        "2:18: 'rows' must be a list with one row per rank, found '0F0'\n");
  CHECK(mistakes_in(schedule("rows: [\"0F0,0B0\", \"1F0,1G0\"]")).substr(0, 36) ==
        "2:35: '1G0' is not an action\n  an ac");
  CHECK(mistakes_in(schedule("kind: 1f1b, stages: 1, micro_batches: 1, forward: -1us")) ==
        "2:62: 'forward' must be at least 0s, found '-1us'\n");
}

TEST_CASE("a schedule needs the thread main for its programs", "[formats][schedule_reader]") {
  CHECK(mistakes_in(schedule("kind: 1f1b, stages: 1, micro_batches: 1") +
                    "threads: {main: {order: arrival}}\n") ==
        "2:11: the schedule runs as a program on thread 'main', which launches by arrival\n"
        "  under 'threads' say 'main: {order: program}'\n");
}

TEST_CASE("two pipelines are read from rows, too", "[formats][schedule_reader]") {
  const std::string rows = "rows: [\"0F0,3F0,3B0,0B0\", \"2F0,1F0,1B0,2B0\"], pipelines: 2";
  const auto graph = testing::scenario_of(schedule(rows)).graph;
  CHECK(formats::schedule_row_texts(graph.pipeline->schedule) ==
        std::vector<std::string>{"0F0,0SEND_F0,3RECV_F0,3F0,3B0,3SEND_B0,0RECV_B0,0B0",
                                 "1RECV_F0,2F0,2SEND_F0,1F0,2RECV_B0,1B0,1SEND_B0,2B0"});
}

TEST_CASE("the end of a schedule runs once it is called that", "[formats][schedule_reader]") {
  const std::string rows = "rows: ['0F5,0B2,0F6,0B3', '1B2,1F5,1F6,1B3']";
  CHECK(mistakes_in(schedule(rows)).find("'0B2' comes before '0F2' on its rank") !=
        std::string::npos);
  const std::string part = schedule("partial: on, activation: 3B, " + rows);
  const models::PipelineReport report = testing::report_of(part);
  // Rank 0 starts with two activations, of micro-batches 2 and 3, and adds a third.
  CHECK(report.ranks[0].peak_activations == 3);
  CHECK(report.ranks[1].peak_activations == 3);
  CHECK(report.ranks[0].peak_bytes == 9);
  // An action that appears later in the rows cannot have been done before the rows.
  CHECK(mistakes_in(schedule("partial: on, rows: ['0B2,0F2']")) ==
        "2:33: '0B2' comes before '0F2' on its rank\n");
  // A rank can have an empty row, but each stage must be on some rank.
  CHECK(testing::scenario_of(schedule("partial: on, rows: ['0B2', '']")).graph.ranks == 2);
  CHECK(mistakes_in(schedule("partial: on, rows: ['1B2']")) ==
        "2:33: no rank has stage 0 of stages 0 to 1\n");
}

TEST_CASE("memory over time begins with what was held before", "[formats][schedule_reader]") {
  const formats::Scenario scenario = testing::scenario_of(
      schedule("partial: on, activation: 3B, rows: ['0B2,0F4,0B3'], forward: 1us"));
  const models::Simulation run = testing::simulate(scenario.graph, {.keep_op_times = true});
  const auto use = models::memory_over_time(scenario.graph, run.lowered, run.outcome);
  REQUIRE(use.ranks.size() == 1);
  CHECK(use.ranks[0].front().used == 6);
  CHECK(use.ranks[0].back().used == 3);
}

TEST_CASE("groups of micro-batches are as Megatron takes them", "[formats][schedule_reader]") {
  const auto mistake = [](const std::string& fields) {
    return mistakes_in(schedule("stages: 8, micro_batches: 8, " + fields));
  };
  CHECK(mistake("kind: interleaved_1f1b, micro_batch_group: 4").empty());
  CHECK(mistake("kind: interleaved_1f1b, micro_batch_group: 2") ==
        "2:84: a group has at least as many micro-batches as there are ranks, 4, and at most all "
        "8, found 2\n");
  CHECK(mistake("kind: interleaved_1f1b, micro_batch_group: 5") ==
        "2:84: the last group has 3 of 8 micro-batches, fewer than there are ranks, 4\n");
  CHECK(mistake("kind: 1f1b, combined: on") ==
        "2:63: only interleaved_1f1b takes its micro-batches in groups, found 1f1b\n");
  CHECK(mistake("kind: v_half, micro_batch_group: 8") ==
        "2:74: only interleaved_1f1b takes its micro-batches in groups, found v_half\n");
}

// The time of a message on the cluster is 10us + 8kB / (1GB/s) = 18us.
TEST_CASE("a schedule that follows the costs knows the messages of a cluster",
          "[formats][schedule_reader]") {
  const auto rows = [](const std::string& fields, const std::string& more) {
    const std::string text = schedule(
        "kind: zbv_greedy, stages: 8, micro_batches: 12, forward: "
        "20us, input_grad: 20us, weight_grad: 20us" +
        fields);
    return formats::schedule_row_texts(testing::scenario_of(text + more).graph.pipeline->schedule);
  };
  const std::string cluster =
      "cluster: {hosts: ranks, links: {infiniband: {latency: 10us, bandwidth: 1GB/s}}}\n";
  const auto of_cluster = rows(", message: 8kB", cluster);
  CHECK(of_cluster == rows(", message_takes: 18us", ""));
  CHECK(of_cluster != rows("", ""));
  // An explicit time takes precedence.
  CHECK(rows(", message: 8kB, message_takes: 0s", cluster) == rows("", ""));
}

TEST_CASE("ranks of a pipeline cannot have more stages than a schedule",
          "[formats][schedule_reader]") {
  const std::string text =
      "schema: 1\nparallel: {pipeline: 16384}\nschedule: {kind: interleaved_1f1b, chunks: 2, "
      "micro_batches: 8}\n";
  CHECK(testing::mistakes_in(text).find("a schedule can have at most 16384 stages, and 16384 ranks "
                                        "with 2 each are more") != std::string::npos);
}
