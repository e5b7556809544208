// Tests section 11 of docs/reference/rules.md. A short program, written from that section alone,
// computed the expected numbers.
#include "sim/jitter.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "sim/engine.hpp"
#include "sim/fixed_order.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"

using namespace pipesim;
using sim::Draw;
using sim::Duration;
using sim::Jitter;

namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

std::int64_t drawn(const Jitter& jitter, Draw what, std::uint32_t id, std::uint64_t k,
                   std::int64_t plain) {
  return jitter.of(what, id, k, Duration{plain}).ns;
}

Jitter part(std::uint32_t permille, std::uint64_t seed) {
  return {.permille = permille, .seed = seed};
}

Jitter any(std::uint64_t seed) { return {.free = true, .seed = seed}; }

// Two ranks that never communicate: only their times decide which one finishes first.
const char* const kApart =
    "schema: 1\nranks: 2\nstreams: {s: {}}\nactors:\n"
    "  a: {on: [0], stream: s, source: 1, slots: 1, takes: 1us}\n"
    "  b: {on: [1], stream: s, source: 1, slots: 1, takes: 1ms}\n";

std::vector<sim::OpTimes> times_of(const sim::Plan& plan, const Jitter& jitter) {
  return sim::run(plan, {.keep_op_times = true, .jitter = jitter}).op_times.all();
}

}  // namespace

TEST_CASE("what a seed draws never changes", "[sim][jitter]") {
  CHECK(drawn(part(100, 1), Draw::kOp, 0, 0, 1000) == 1036);
  CHECK(drawn(part(100, 1), Draw::kOp, 0, 1, 1000) == 1076);
  CHECK(drawn(part(500, 7), Draw::kLaunch, 5, 3, 123'456) == 90'325);
  CHECK(drawn(part(2000, 7), Draw::kCall, 5, 3, 10) == 30);
  CHECK(drawn(part(333, 0), Draw::kOp, 0, 0, 4001) == 2740);
  CHECK(drawn(any(1), Draw::kOp, 0, 0, 0) == 10'468);
  CHECK(drawn(any(1), Draw::kWake, 3, 1000, 0) == 35'536);
  CHECK(drawn(any(400), Draw::kInput, 1, 1, 0) == 7945);
}

TEST_CASE("a part varies both ways and reaches its bounds", "[sim][jitter]") {
  std::set<std::int64_t> seen;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    seen.insert(drawn(part(100, seed), Draw::kOp, 3, 7, 100));
  }
  CHECK(seen.size() == 21);
  CHECK(*seen.begin() == 90);
  CHECK(*seen.rbegin() == 110);
}

TEST_CASE("a part of nothing is nothing, and none is below nothing", "[sim][jitter]") {
  std::int64_t least = kLargest;
  std::int64_t most = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    CHECK(drawn(part(500, seed), Draw::kLaunch, 1, 1, 0) == 0);
    const std::int64_t far = drawn(part(3000, seed), Draw::kOp, 1, 1, 10);
    least = std::min(least, far);
    most = std::max(most, far);
    CHECK(drawn(part(4'000'000'000, seed), Draw::kOp, 1, 1, kLargest) >= 0);
    CHECK(drawn(part(1, seed), Draw::kOp, 1, 1, kLargest) >= kLargest - kLargest / 1000 - 1);
  }
  CHECK(least == 0);
  CHECK(most == 40);
}

TEST_CASE("free durations are of every magnitude", "[sim][jitter]") {
  std::int64_t below_100 = 0;
  std::int64_t above_100k = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const std::int64_t ns = drawn(any(seed), Draw::kOp, 0, 0, 5);
    CHECK(ns >= 0);
    CHECK(ns <= (1 << 23) - 2);
    below_100 += ns < 100 ? 1 : 0;
    above_100k += ns > 100'000 ? 1 : 0;
  }
  // The exponent o of section 11 is at most 5 for 21 of the 144 pairs (g mod 12, h mod 12), and at
  // least 17 for another 21.
  CHECK(below_100 > 130);
  CHECK(above_100k > 100);
}

TEST_CASE("without jitter a seed changes nothing", "[sim][jitter]") {
  const models::Lowered lowered = testing::lowered_of(kApart);
  CHECK(times_of(lowered.plan, part(0, 5)) == times_of(lowered.plan, {}));
}

TEST_CASE("a run takes the times that its seed draws", "[sim][jitter]") {
  // One thread launches a and b, each on its own stream, so the drawn durations show unchanged.
  const models::Lowered lowered = testing::lowered_of(
      "schema: 1\nstreams: {s: {}, t: {}}\nactors:\n"
      "  a: {stream: s, source: 3, slots: 3, takes: 2us, launch_overhead: 1us}\n"
      "  b: {stream: t, source: 3, slots: 3, takes: 3us}\n");
  const std::vector<sim::OpTimes> times = times_of(lowered.plan, part(100, 3));
  std::vector<std::int64_t> durations;
  for (const sim::OpTimes& op : times) durations.push_back(op.end.ns - op.start.ns);
  CHECK(durations == std::vector<std::int64_t>{2037, 2184, 1820, 2948, 2859, 3188});
  CHECK(times[0].launch.ns - times[0].enter.ns == 1072);
  CHECK(times_of(lowered.plan, part(100, 3)) == times);
  CHECK_FALSE(times_of(lowered.plan, part(100, 4)) == times);
}

TEST_CASE("free timings bring about both orders", "[sim][jitter]") {
  const models::Lowered lowered = testing::lowered_of(kApart);
  int first = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const std::vector<sim::OpTimes> times = times_of(lowered.plan, any(seed));
    first += times[0].end < times[1].end ? 1 : 0;
  }
  CHECK(first > 60);
  CHECK(first < 140);
}

TEST_CASE("the sweep through a plan knows no jitter", "[sim][jitter]") {
  const models::Lowered lowered = testing::lowered_of(kApart);
  CHECK(std::string(sim::fixed_order_obstacle(lowered.plan, {.jitter = part(1, 0)})) ==
        "durations vary from op to op");
}
