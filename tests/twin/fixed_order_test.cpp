// Compares runs in fixed order with the event engine. If a run in fixed order reaches the end of a
// plan, its outcome must be equal in every respect. Most plans that complete and have no obstacle
// must run in fixed order.
#include "sim/fixed_order.hpp"

#include <cstdint>
#include <optional>
#include <utility>

#include "tests/support/catch.hpp"
#include "tests/twin/random_spec.hpp"
#include "tests/twin/sketch.hpp"
#include "tests/twin/to_plan.hpp"

using namespace pipesim;

namespace {

sim::RunOptions options_of(sim::EngineKind engine) {
  sim::RunOptions options;
  options.engine = engine;
  options.keep_op_times = true;
  return options;
}

// Returns a random plan. Half of the plans have none of these obstacles: faults, limited devices,
// initialization that waits for devices.
sim::Plan random_plan(std::uint64_t seed) {
  twin::Spec spec = twin::random_spec(seed);
  if (seed % 4 < 2) return twin::to_plan(spec);
  spec = twin::without_faults(std::move(spec));
  for (twin::Device& device : spec.devices) {
    device.hardware_queues = 0;
    device.resident = 0;
    device.order = twin::Order::kNone;
  }
  for (twin::Communicator& communicator : spec.communicators) {
    communicator.waits_for_device = false;
  }
  return twin::to_plan(spec);
}

// Compares the states after two completed runs, except queues and lines, which are then empty.
void check_same_state(const sim::Plan& plan, const sim::State& a, const sim::State& b) {
  for (const sim::ActorId id : ids_of(plan.actors)) {
    CHECK(a.actors[id].launched == b.actors[id].launched);
    CHECK(a.actors[id].done == b.actors[id].done);
    CHECK(a.started(plan, id) == b.started(plan, id));
    CHECK(a.entered(plan, id) == b.entered(plan, id));
  }
  for (const sim::StreamId id : ids_of(plan.streams)) {
    CHECK(a.streams[id].items.empty());
    CHECK(b.streams[id].items.empty());
    CHECK(a.streams[id].launched == b.streams[id].launched);
    CHECK(a.streams[id].done == b.streams[id].done);
  }
  for (const sim::ThreadId id : ids_of(plan.threads)) {
    CHECK(a.threads[id].mode == b.threads[id].mode);
    CHECK(a.threads[id].next_op == b.threads[id].next_op);
  }
  for (const sim::CommunicatorId id : ids_of(plan.communicators)) {
    CHECK(a.communicators[id].exists == b.communicators[id].exists);
    CHECK(a.communicators[id].ranks_arrived == b.communicators[id].ranks_arrived);
    CHECK(a.communicators[id].in_round == b.communicators[id].in_round);
  }
  for (const sim::SignalId id : ids_of(plan.signals)) {
    CHECK(a.signals[id].recorded == b.signals[id].recorded);
    CHECK(a.signals[id].fired == b.signals[id].fired);
  }
  for (const sim::CallId id : ids_of(plan.calls)) CHECK(a.calls[id] == b.calls[id]);
  for (const sim::ChannelId id : ids_of(plan.channels)) {
    REQUIRE(a.channels[id].messages.size() == b.channels[id].messages.size());
    for (std::uint32_t i = 0; i < a.channels[id].messages.size(); ++i) {
      CHECK(a.channels[id].messages[i].call == b.channels[id].messages[i].call);
      CHECK(a.channels[id].messages[i].k == b.channels[id].messages[i].k);
    }
  }
  CHECK(a.arrived == b.arrived);
}

void check_same(const sim::Plan& plan, const sim::Outcome& outcome, const sim::Outcome& events) {
  CHECK(outcome.in_fixed_order);
  CHECK(outcome.end == events.end);
  CHECK(outcome.last_progress == events.last_progress);
  CHECK(outcome.ops_done == events.ops_done);
  for (const sim::RankId rank : ids_of(events.digests)) {
    CHECK(outcome.digests[rank] == events.digests[rank]);
  }
  CHECK(outcome.op_times == events.op_times);
  check_same_state(plan, outcome.state, events.state);
}

}  // namespace

TEST_CASE("runs in fixed order agree with the event engine on random plans", "[twin]") {
  constexpr std::uint64_t kPlans = 60000;
  int possible = 0;
  int completed = 0;
  int in_fixed_order = 0;
  for (std::uint64_t seed = 1; seed <= kPlans; ++seed) {
    const sim::Plan plan = random_plan(seed);
    const sim::RunOptions options = options_of(sim::EngineKind::kEvents);
    if (sim::fixed_order_obstacle(plan, options) != nullptr) continue;
    ++possible;
    const sim::Outcome events = sim::run(plan, options);
    const bool good = events.completed();
    if (good) ++completed;
    const std::optional<sim::Outcome> outcome = sim::run_in_fixed_order(plan, options);
    if (!outcome) continue;
    ++in_fixed_order;
    INFO("seed " << seed);
    REQUIRE(good);
    check_same(plan, *outcome, events);
    // For every second actor, keeps only the times of its last op.
    sim::RunOptions fewer = options;
    for (const sim::ActorId id : ids_of(plan.actors)) {
      if (id.value % 2 == 0) fewer.last_times_of.push_back(id);
    }
    const std::optional<sim::Outcome> short_outcome = sim::run_in_fixed_order(plan, fewer);
    REQUIRE(short_outcome);
    CHECK(short_outcome->op_times == sim::run(plan, fewer).op_times);
    for (const sim::ActorId id : fewer.last_times_of) {
      const std::uint32_t ops = plan.actors[id].ops;
      if (ops == 0) continue;
      CHECK(short_outcome->op_times.of(id, 0) == events.op_times.of(id, ops - 1));
    }
    const sim::Outcome automatic = sim::run(plan, options_of(sim::EngineKind::kAuto));
    CHECK(automatic.in_fixed_order);
  }
  INFO(possible << " plans have no obstacle, " << completed << " of them complete, "
                << in_fixed_order << " ran in fixed order");
  CHECK(possible > 1000);
  CHECK(in_fixed_order > 500);
  CHECK(in_fixed_order * 10 > completed * 7);
}

// Two streams of a device share a launch queue of two: the third launch waits for the end of b's
// first op at time 4, the fourth for the end of a's first op at time 10.
TEST_CASE("by hand: a launch queue of a device in fixed order", "[twin]") {
  twin::Sketch sketch;
  const int thread = sketch.add_program();
  const int streams[] = {sketch.add_stream(), sketch.add_stream()};
  const int a = sketch.add_actor(thread, streams[0], 10, 2);
  const int b = sketch.add_actor(thread, streams[1], 4, 2);
  sketch.add_device(0, {streams[0], streams[1]}, 0, 0, false);
  sketch.spec.devices[0].launch_queue = 2;
  sketch.spec.threads.front().list = {a, b, a, b};
  const sim::Plan plan = twin::to_plan(sketch.spec);
  const sim::RunOptions options = options_of(sim::EngineKind::kEvents);
  REQUIRE(sim::fixed_order_obstacle(plan, options) == nullptr);
  const std::optional<sim::Outcome> outcome = sim::run_in_fixed_order(plan, options);
  REQUIRE(outcome);
  const auto launch = [&](int actor, std::uint32_t k) {
    return outcome->op_times.of(sim::ActorId{static_cast<std::uint32_t>(actor)}, k).launch.ns;
  };
  CHECK(launch(a, 0) == 0);
  CHECK(launch(b, 0) == 0);
  CHECK(launch(a, 1) == 4);
  CHECK(launch(b, 1) == 10);
  CHECK(outcome->last_progress.ns == 20);
  check_same(plan, *outcome, sim::run(plan, options));
}

// Op k of `second`, and also op k of `third`, waits for op k of `first`. `third` runs last, so it
// still needs ends of ops for which `second` has already waited.
TEST_CASE("by hand: two ops may wait for one in fixed order", "[twin]") {
  twin::Sketch sketch;
  const int thread = sketch.add_program();
  const int first = sketch.add_actor(thread, sketch.add_stream(), 5, 7);
  const int second = sketch.add_actor(thread, sketch.add_stream(), 1, 4);
  const int third = sketch.add_actor(thread, sketch.add_stream(), 1, 4);
  for (const int actor : {second, third}) sketch.actor(actor).afters = {{first, 0}};
  for (const auto& [actor, ops] : {std::pair(first, 4), {second, 4}, {first, 3}, {third, 4}}) {
    for (int k = 0; k < ops; ++k) sketch.spec.threads.front().list.push_back(actor);
  }
  const sim::Plan plan = twin::to_plan(sketch.spec);
  const sim::RunOptions options = options_of(sim::EngineKind::kEvents);
  REQUIRE(sim::fixed_order_obstacle(plan, options) == nullptr);
  const std::optional<sim::Outcome> outcome = sim::run_in_fixed_order(plan, options);
  REQUIRE(outcome);
  check_same(plan, *outcome, sim::run(plan, options));
}
