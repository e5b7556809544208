// What a caller may ask of a run, beside its result: tests/twin sees to that.
#include "sim/engine.hpp"

#include <cstdint>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"

using namespace pipesim;
using sim::LogEntry;
using sim::RunEnd;
using sim::Time;

namespace {

// Actor a, then b with what a made, on one thread and one stream.
const char* const kTwo =
    "schema: 1\nstreams: {s: {}}\nactors:\n"
    "  a: {stream: s, source: 3, slots: 1, takes: 2us, launch_overhead: 1us}\n"
    "  b: {stream: s, reads: [a], takes: 3us}\n";

}  // namespace

TEST_CASE("a run can be ended after any number of events", "[sim][engine]") {
  const models::Lowered lowered = testing::lowered_of(kTwo);
  const sim::Outcome whole = sim::run(lowered.plan);
  REQUIRE(whole.end == RunEnd::kCompleted);
  for (std::uint64_t events = 0; events <= whole.events; ++events) {
    const sim::Outcome part = sim::run(lowered.plan, {.max_events = events});
    CHECK(part.events == events);
    CHECK((part.end == RunEnd::kInterrupted) == (events < whole.events));
  }
}

// The thread enters a#1 at 0 and launches it at 1. With one slot, a#2 has to wait for b#1, whose
// launch at 1 gives the slot back (it leaves at launch, on the same thread): entered at 1, launched
// at 2. So a#3 is entered at 2 and launched at 3.
TEST_CASE("a run can be ended at the moment when an act is entered", "[sim][engine]") {
  const models::Lowered lowered = testing::lowered_of(kTwo);
  const sim::ActorId a{0};
  const sim::Outcome stopped =
      sim::run(lowered.plan, {.keep_act_times = true, .until_actor = a, .until_k = 2});
  CHECK(stopped.end == RunEnd::kUntil);
  CHECK(stopped.state.in_launch(lowered.plan, a));
  CHECK(stopped.state.actors[a].launched == 2);
  CHECK(stopped.act_times[2].enter == Time{2000});
  CHECK(stopped.act_times[2].launch == sim::kNever);
  // An act that is never entered ends nothing.
  CHECK(sim::run(lowered.plan, {.until_actor = a, .until_k = 3}).end == RunEnd::kCompleted);
  // The earlier of two limits counts.
  const sim::Outcome earlier = sim::run(
      lowered.plan, {.keep_act_times = true, .until = Time{1999}, .until_actor = a, .until_k = 2});
  CHECK(earlier.end == RunEnd::kUntil);
  CHECK(earlier.act_times[2].enter == sim::kNever);
}

TEST_CASE("the log has the lines of the host threads in their order", "[sim][engine]") {
  const models::Lowered lowered = testing::lowered_of(kTwo);
  const sim::ActorId a{0};
  const sim::ActorId b{1};
  const sim::Outcome outcome = sim::run(lowered.plan, {.keep_log = true});
  CHECK(outcome.log == std::vector<LogEntry>{{Time{0}, a, 0, false},
                                             {Time{1000}, a, 0, true},
                                             {Time{1000}, b, 0, false},
                                             {Time{1000}, b, 0, true},
                                             {Time{1000}, a, 1, false},
                                             {Time{2000}, a, 1, true},
                                             {Time{2000}, b, 1, false},
                                             {Time{2000}, b, 1, true},
                                             {Time{2000}, a, 2, false},
                                             {Time{3000}, a, 2, true},
                                             {Time{3000}, b, 2, false},
                                             {Time{3000}, b, 2, true}});
  CHECK(sim::run(lowered.plan).log.empty());
}
