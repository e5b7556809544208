// The answers of `check` for the shipped scenarios, compared with runs in random timings.
#include "features/check/check.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "models/lowering/lowering.hpp"
#include "models/result/event_order.hpp"
#include "sim/engine.hpp"
#include "sim/interleavings/exploration.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace pipesim;

namespace {

constexpr const char* kSwin = "scenarios/swin_2x2x2.yaml";
constexpr std::uint64_t kBranchPoints = 2000;

sim::Plan plan_of(const std::string& path, const testing::Settings& settings = {}) {
  models::Diagnostics diagnostics;
  const formats::Scenario scenario = testing::load(path, settings);
  auto lowered = models::lower(scenario.graph, diagnostics);
  REQUIRE(lowered);
  return lowered->plan;
}

sim::Exploration explored(const sim::Plan& plan) {
  sim::ExploreOptions options;
  options.max_states = kBranchPoints;
  return sim::explore(plan, options);
}

// Returns how many of `count` runs with random timings do not complete.
int hangs(const sim::Plan& plan, std::uint64_t count) {
  int found = 0;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    sim::RunOptions options;
    options.jitter.free = true;
    options.jitter.seed = seed;
    if (!sim::run(plan, options).completed()) ++found;
  }
  return found;
}

void check_replay(const sim::Plan& plan, const sim::Exploration& exploration) {
  REQUIRE_FALSE(exploration.hang.empty());
  sim::RunOptions options;
  options.order = &exploration.hang;
  const sim::Outcome outcome = sim::run(plan, options);
  CHECK(outcome.order_steps == exploration.hang.size());
  CHECK_FALSE(outcome.completed());
}

}  // namespace

TEST_CASE("what check says of the shipped scenarios holds in 1,000 random timings",
          "[scenarios][check]") {
  int proved = 0;
  int possible = 0;
  for (const std::string& path : testing::scenario_paths()) {
    INFO(path);
    const sim::Plan plan = plan_of(path);
    const sim::Exploration exploration = explored(plan);
    switch (exploration.answer) {
      case sim::Answer::kProved:
        ++proved;
        CHECK(hangs(plan, 1000) == 0);
        break;
      case sim::Answer::kHangCertain:
      case sim::Answer::kMismatch:
        CHECK(hangs(plan, 100) == 100);
        break;
      case sim::Answer::kHangPossible:
        ++possible;
        // If a plan has faults, the hang that check reports is the run in the scenario's own times,
        // so there is no interleaving to replay.
        if (!plan.faulty) check_replay(plan, exploration);
        break;
      case sim::Answer::kUndecided:
        FAIL_CHECK("undecided");
        break;
    }
  }
  CHECK(proved >= 7);
  CHECK(possible >= 4);
}

// The job completes only if all ranks start the same one of two kernels first. If each of 16 ranks
// decides alone, only 1 in 2^15 combinations completes.
TEST_CASE("check finds what completes where all ranks do the same first", "[scenarios][check]") {
  for (const std::string size : {"8", "16", "32"}) {
    const sim::Plan plan = plan_of("scenarios/deepep_beside_nccl.yaml", {{"size", size}});
    const sim::Exploration exploration = explored(plan);
    INFO(size << " ranks, " << exploration.states << " branch points");
    CHECK(exploration.answer == sim::Answer::kHangPossible);
    CHECK(exploration.hang_found);
    CHECK(exploration.completion_found);
    CHECK(exploration.states <= 1'000);
    check_replay(plan, exploration);
  }
}

// Each fix alone removes the hang in the scenario's own times (swin_test). One of the fixes does
// not remove it in all interleavings: with 8 micro-batches and messages that leave at launch,
// moving the buffer is not enough (docs/explanation/check.md).
TEST_CASE("what check says of each fix of the Swin hang", "[scenarios][check][swin]") {
  const auto answer = [](const std::string& acc, const std::string& messages,
                         const formats::Setting& fix) {
    INFO("acc " << acc << ", " << messages << ", " << fix.first << "=" << fix.second);
    const sim::Plan plan = plan_of(kSwin, {{"acc", acc}, {"nccl_messages", messages}, fix});
    const sim::Exploration exploration = explored(plan);
    if (exploration.answer == sim::Answer::kProved) CHECK(hangs(plan, 400) == 0);
    if (exploration.hang_found) check_replay(plan, exploration);
    return exploration.answer;
  };
  for (const std::string messages : {"gated", "immediate"}) {
    for (const std::string acc : {"4", "8"}) {
      CHECK(answer(acc, messages, {"bwd_dst_buffer", "forward"}) == sim::Answer::kHangPossible);
      CHECK(answer(acc, messages, {"comm_creation", "start"}) == sim::Answer::kHangPossible);
      CHECK(answer(acc, messages, {"forward_stream", "own"}) == sim::Answer::kProved);
      CHECK(answer(acc, messages, {"repeat_ctrl_credits", acc}) == sim::Answer::kProved);
      CHECK(answer(acc, messages, {"zeros_slots", acc}) == sim::Answer::kProved);
      CHECK(answer(acc, messages, {"nccl_use_compute_stream", "off"}) == sim::Answer::kProved);
    }
    for (const std::string stream : {"backward", "own"}) {
      CHECK(answer("4", messages, {"bwd_dst_buffer", stream}) == sim::Answer::kProved);
    }
  }
  for (const std::string stream : {"backward", "own"}) {
    CHECK(answer("8", "gated", {"bwd_dst_buffer", stream}) == sim::Answer::kProved);
    CHECK(answer("8", "immediate", {"bwd_dst_buffer", stream}) == sim::Answer::kHangPossible);
  }
  CHECK(answer("2", "gated", {"bwd_dst_buffer", "forward"}) == sim::Answer::kProved);
}

TEST_CASE("check tells each step of the order that hangs", "[scenarios][check]") {
  const formats::Scenario scenario = testing::load("scenarios/buffer_on_the_wrong_stream.yaml");
  models::Diagnostics diagnostics;
  auto lowered = models::lower(scenario.graph, diagnostics);
  REQUIRE(lowered);
  const models::CheckReport report =
      models::check(scenario.graph, std::move(*lowered), sim::ExploreOptions());
  CHECK(report.exploration.answer == sim::Answer::kHangPossible);
  REQUIRE(report.hang);
  CHECK(report.hanging() == &*report.hang);
  CHECK(report.hang->explanation.verdict == sim::Verdict::kDeadlock);
  const auto steps =
      models::describe_order(scenario.graph, report.hang->lowered, report.exploration.hang);
  REQUIRE(steps.size() == report.exploration.hang.size());
  // In the first step of the interleaving, a thread reads the start message of a source.
  CHECK(steps.front().what.find("reads a message") != std::string::npos);
  for (const models::OrderStep& step : steps) CHECK_FALSE(step.what.empty());
}
