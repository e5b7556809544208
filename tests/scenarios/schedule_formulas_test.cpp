// Published formulas of pipeline schedules, for sends that take no time: idle time, and the maximum
// number of activations on a rank. docs/reference/schedules.md has the table of formulas and the
// deviations of each schedule.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "models/schedules/generators.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/pipeline.hpp"

using namespace pipesim;
using models::ScheduleKind;
using testing::Found;
using testing::found;
using testing::scenario_of_shape;

namespace {

// Times of a stage: forward, input gradient and weight gradient; B = I + W.
struct Costs {
  std::int64_t f;
  std::int64_t i;
  std::int64_t w;

  std::int64_t b() const { return i + w; }
};

const std::vector<Costs> kCosts = {{10, 10, 10}, {20, 30, 10}, {10, 20, 10}, {10, 10, 20},
                                   {30, 20, 20}, {20, 20, 10}, {10, 10, 5},  {50, 70, 30}};

struct Case {
  models::ScheduleShape shape;
  Costs costs;

  std::int64_t p() const { return shape.ranks(); }
  std::int64_t m() const { return shape.micro_batches; }
  std::int64_t v() const { return shape.chunks; }
};

// Returns cases of one kind of schedule, each with all costs, for several numbers p of ranks. The
// number of micro-batches is a multiple of p, at least `least` times p.
std::vector<Case> cases(ScheduleKind kind, std::uint32_t chunks, std::uint32_t least = 1) {
  std::vector<Case> result;
  for (const std::uint32_t p : {2U, 4U, 6U, 8U}) {
    for (std::uint32_t rounds = least; rounds <= 3; ++rounds) {
      for (const Costs& costs : kCosts) {
        result.push_back({{kind, p * chunks, p * rounds, chunks}, costs});
      }
    }
  }
  return result;
}

std::string text_of(const Case& one) {
  return scenario_of_shape(one.shape, {one.costs.f, one.costs.i, one.costs.w});
}

std::string told(const Case& one) {
  return std::string(models::schedule_kind_name(one.shape.kind)) + " p=" + std::to_string(one.p()) +
         " m=" + std::to_string(one.m()) + " v=" + std::to_string(one.v()) +
         " F,I,W=" + std::to_string(one.costs.f) + "," + std::to_string(one.costs.i) + "," +
         std::to_string(one.costs.w);
}

// Checks that every rank is idle for `idle` ns and holds at most `peak(rank)` activations.
template <typename Peak>
void check(const Case& one, std::int64_t idle, const Peak& peak) {
  INFO(told(one));
  Found expected;
  expected.makespan = one.m() * one.v() * (one.costs.f + one.costs.b()) + idle;
  for (std::int64_t rank = 0; rank < one.p(); ++rank) {
    expected.idle.push_back(idle);
    expected.peaks.push_back(peak(rank));
  }
  CHECK(found(text_of(one)) == expected);
}

}  // namespace

TEST_CASE("GPipe, 1F1B, interleaved 1F1B and looped BFS are idle as published, and hold as much",
          "[scenarios][schedules]") {
  for (const Case& one : cases(ScheduleKind::kGpipe, 1)) {
    check(one, (one.p() - 1) * (one.costs.f + one.costs.b()), [&](auto) { return one.m(); });
  }
  for (const Case& one : cases(ScheduleKind::k1f1b, 1)) {
    check(one, (one.p() - 1) * (one.costs.f + one.costs.b()),
          [&](std::int64_t rank) { return std::min(one.m(), one.p() - rank); });
  }
  for (const std::uint32_t v : {2U, 3U}) {
    for (const Case& one : cases(ScheduleKind::kInterleaved1f1b, v)) {
      check(one, (one.p() - 1) * (one.costs.f + one.costs.b()), [&](std::int64_t rank) {
        return std::min(one.m() * one.v(), (one.v() - 1) * one.p() + 2 * (one.p() - 1 - rank) + 1);
      });
    }
    for (const Case& one : cases(ScheduleKind::kLoopedBfs, v)) {
      check(one, (one.p() - 1) * (one.costs.f + one.costs.b()),
            [&](auto) { return one.m() * one.v(); });
    }
  }
}

TEST_CASE("ZB1P and its interleaved form are idle as published, unless W is the longest",
          "[scenarios][schedules]") {
  const auto check_all = [](const std::vector<Case>& all) {
    for (const Case& one : all) {
      if (one.costs.w > std::max(one.costs.f, one.costs.i)) continue;
      check(one, (one.p() - 1) * (one.costs.f + one.costs.i - one.costs.w),
            [&](auto) { return (one.v() - 1) * one.p() + one.p(); });
    }
  };
  check_all(cases(ScheduleKind::kZb1p, 1, 2));
  check_all(cases(ScheduleKind::kInterleavedZeroBubble, 2, 2));
  check_all(cases(ScheduleKind::kInterleavedZeroBubble, 3, 2));
  // For F = I = 1 and W = 2, the formula gives no idle time, but the start of the pipeline remains.
  const Case other = {{ScheduleKind::kZb1p, 4, 8, 1}, {10, 10, 20}};
  check(other, 30, [](auto) { return 4; });
}

TEST_CASE("ZB-H2 is idle as published between its first action and its last",
          "[scenarios][schedules]") {
  for (const Case& one : cases(ScheduleKind::kZbH2, 1, 2)) {
    INFO(told(one));
    const models::PipelineReport report = testing::report_of(text_of(one));
    const std::int64_t published = (one.p() - 1) * (one.costs.f + one.costs.i - 2 * one.costs.w);
    CHECK(testing::most_inside(report) == std::max<std::int64_t>(0, published));
    // A single step also includes the idle time at its start.
    CHECK(testing::most_idle(report) == std::max(published, (one.p() - 1) * one.costs.f));
    for (const models::PipelineRank& rank : report.ranks) {
      CHECK(rank.peak_activations == 2 * one.p() - 1);
    }
  }
}

TEST_CASE("ZB-V is idle for the start only where times are equal", "[scenarios][schedules]") {
  for (const Case& one : cases(ScheduleKind::kZbv, 2, 2)) {
    const Costs& c = one.costs;
    const bool exact =
        (c.f == c.i && c.i == c.w) || (c.f == 20 && c.i == 30) || (c.f == 10 && c.i == 20);
    const auto peak = [&](auto) { return 2 * one.p(); };
    if (exact) {
      check(one, (one.p() - 1) * (c.f + c.i - c.w), peak);
    } else {
      INFO(told(one));
      for (const std::int64_t held : found(text_of(one)).peaks) CHECK(held == peak(0));
    }
  }
}

TEST_CASE("DualPipe and DualPipeV are idle as published for equal times",
          "[scenarios][schedules]") {
  const std::vector<Costs> exact = {{10, 10, 10}, {20, 20, 10}, {10, 10, 5}};
  for (const ScheduleKind kind : {ScheduleKind::kDualPipe, ScheduleKind::kDualPipeV}) {
    const bool both_ways = kind == ScheduleKind::kDualPipe;
    for (const std::uint32_t stages : {4U, 8U, 16U}) {
      for (const Costs& c : exact) {
        for (const std::int64_t tenths : {10, 8}) {
          if (tenths < 10 && c.w != c.i) continue;
          const std::int64_t both = (c.f + c.b()) * tenths / 10;
          const models::ScheduleShape shape = {kind, stages, both_ways ? 2 * stages : stages,
                                               both_ways ? 1U : 2U};
          INFO(models::schedule_kind_name(kind)
               << " of " << stages << " stages, F " << c.f << " W " << c.w << " F&B " << both);
          const auto report = testing::report_of(scenario_of_shape(shape, {c.f, c.i, c.w, both}));
          CHECK(testing::most_idle(report) == (stages / 2 - 1) * (both + c.b() - 3 * c.w));
          for (const models::PipelineRank& rank : report.ranks) {
            CHECK(rank.peak_activations == stages + 1);
          }
        }
      }
    }
  }
}

// Pins measured idle times for other costs, larger and smaller than the published formula gives, so
// that a change shows.
TEST_CASE("DualPipeV deviates from its formula for other times", "[scenarios][schedules]") {
  const auto idle = [](std::uint32_t ranks, const Costs& c) {
    const models::ScheduleShape shape = {ScheduleKind::kDualPipeV, 2 * ranks, 2 * ranks, 2};
    return testing::most_idle(testing::report_of(scenario_of_shape(shape, {c.f, c.i, c.w})));
  };
  CHECK(idle(4, {2, 3, 1}) == 19);  // published: 21
  CHECK(idle(8, {1, 1, 2}) == 14);  // published: 7
  CHECK(idle(8, {3, 2, 2}) == 42);  // published: 35
}

TEST_CASE("Chimera is idle and holds as published; longer backwards cost each unit more",
          "[scenarios][schedules]") {
  for (const std::uint32_t d : {2U, 4U, 6U, 8U}) {
    for (const std::uint32_t units : {1U, 2U, 3U}) {
      for (const Costs& c : std::vector<Costs>{{20, 10, 10}, {10, 10, 10}, {10, 20, 10}}) {
        const std::int64_t n = d * units;
        INFO("D=" << d << " N=" << n << " F=" << c.f << " B=" << c.b());
        const models::ScheduleShape shape = {ScheduleKind::kChimera, d, d * units, 1};
        const Found run = found(scenario_of_shape(shape, {c.f, c.i, c.w}));
        for (std::int64_t rank = 0; rank < d; ++rank) {
          const auto at = static_cast<std::size_t>(rank);
          CHECK(run.idle[at] == (d - 2) * (c.b() + (units - 1) * (c.b() - c.f)));
          CHECK(run.peaks[at] == d / 2 + 1 + std::min<std::int64_t>(rank, d - 1 - rank));
        }
        // The paper gives the idle share of the time: (D - 2) / (2N + D - 2) if B = F and, for one
        // unit, (D - 2) / (3N/2 + D - 2) if B = 2F.
        if (c.b() == c.f) CHECK(run.idle[0] * (2 * n + d - 2) == run.makespan * (d - 2));
        if (c.b() == 2 * c.f && units == 1) {
          CHECK(run.idle[0] * (3 * n + 2 * d - 4) == run.makespan * 2 * (d - 2));
        }
      }
    }
  }
}
