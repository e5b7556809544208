// Waits of ranks in small pipeline schedules, worked out by hand.
#include "models/result/pipeline_report.hpp"

#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/pipeline.hpp"

using namespace pipesim;
using models::IdleTime;
using models::PipelineReport;

namespace {

bool same(const IdleTime& a, const IdleTime& b) {
  return a.start_ns == b.start_ns && a.input_ns == b.input_ns && a.gradient_ns == b.gradient_ns &&
         a.message_ns == b.message_ns && a.host_ns == b.host_ns && a.finished_ns == b.finished_ns;
}

const std::string kTwo =
    "schema: 1\nschedule:\n  rows: [\"0F0,0F1,0B0,0B1\", \"1F0,1B0,1F1,1B1\"]\n";

}  // namespace

TEST_CASE("idle time is attributed to what came last: the other stage, or the message",
          "[models][pipeline_report]") {
  // A forward takes 10, a backward 20, a message 3 ns. On rank 1, F0 runs from 13 to 23, B0 to 43,
  // F1 to 53, B1 to 73. On rank 0, F0 and F1 run to 20; B0 runs from 43 + 3 to 66, B1 from 73 + 3
  // to 96.
  const PipelineReport report = testing::report_of(
      kTwo + "  forward: 10ns\n  message_takes: 3ns\n  activation: [5B, 7B]\n  weights: 100B\n");
  CHECK(report.makespan_ns == 96);
  CHECK(report.has_memory);
  REQUIRE(report.ranks.size() == 2);
  CHECK(report.ranks[0].busy_ns == 60);
  CHECK(same(report.ranks[0].idle, {0, 0, 23 + 7, 3 + 3, 0, 0}));
  CHECK(report.ranks[0].peak_activations == 2);
  CHECK(report.ranks[0].peak_bytes == 110);
  CHECK(same(report.ranks[1].idle, {13, 0, 0, 0, 0, 23}));
  CHECK(report.ranks[1].peak_activations == 1);
  CHECK(report.ranks[1].peak_bytes == 107);
}

TEST_CASE(
    "the report of a schedule needs when computing ops happened, and the ends of the last others",
    "[models][pipeline_report]") {
  for (const char* kind : {"1f1b", "zbv", "dualpipe_v"}) {
    INFO(kind);
    const formats::Scenario scenario = testing::scenario_of(
        std::string("schema: 1\nschedule: {kind: ") + kind +
        ", stages: 8, micro_batches: 16, forward: 3us, input_grad: 2us, weight_grad: 1us, "
        "message_takes: 500ns}\n");
    const models::Simulation all = testing::simulate(scenario.graph, {.keep_op_times = true});
    const std::vector<sim::ActorId> others =
        models::actors_without_compute(*scenario.graph.pipeline, all.lowered);
    const models::Simulation some =
        testing::simulate(scenario.graph, {.keep_op_times = true, .last_times_of = others});
    CHECK(some.outcome.op_times.all().size() < all.outcome.op_times.all().size());
    const auto expected = models::pipeline_report(scenario.graph, all.lowered, all.outcome);
    const auto report = models::pipeline_report(scenario.graph, some.lowered, some.outcome);
    REQUIRE(expected);
    REQUIRE(report);
    CHECK(*report == *expected);
  }
}

TEST_CASE("without sizes there is no memory, and without a schedule no report",
          "[models][pipeline_report]") {
  CHECK(!testing::report_of(kTwo).has_memory);
  const formats::Scenario scenario =
      testing::scenario_of("schema: 1\nprograms: {do: [{compute: k}]}\n");
  const models::Simulation run = testing::simulate(scenario.graph, {.keep_op_times = true});
  CHECK(!models::pipeline_report(scenario.graph, run.lowered, run.outcome));
}

TEST_CASE("a schedule that hangs has no report", "[models][pipeline_report]") {
  const formats::Scenario scenario = testing::scenario_of(
      "schema: 1\nreading: contract\nschedule:\n  messages: pg\n  rows:\n"
      "    - \"0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\"\n"
      "    - \"1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\"\n");
  const models::Simulation run = testing::simulate(scenario.graph, {.keep_op_times = true});
  CHECK(run.explanation.verdict == sim::Verdict::kDeadlock);
  CHECK(!models::pipeline_report(scenario.graph, run.lowered, run.outcome));
}

TEST_CASE("messages that come in another order than they are taken are a mismatch",
          "[models][pipeline_report]") {
  const formats::Scenario scenario = testing::scenario_of(
      "schema: 1\nschedule:\n  rows:\n"
      "    - \"0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\"\n"
      "    - \"1RECV_F1,1F1,1RECV_F0,1F0,1B0,1SEND_B0,1B1,1SEND_B1\"\n");
  const models::Explanation end = testing::simulate(scenario.graph).explanation;
  CHECK(end.verdict == sim::Verdict::kMismatch);
  REQUIRE(!end.mismatches.empty());
  CHECK(end.mismatches[0].first.name == "0SEND_F0");
  CHECK(end.mismatches[0].second.name == "1RECV_F1");
}
