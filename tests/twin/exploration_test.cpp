// Compares, on random plans, the search of all interleavings with the search of only those that
// differ in effect. Both searches must find the same ends. Each hanging interleaving must hang when
// replayed. If timing decides nothing, all interleavings must have one end.
//
// PIPESIM_EXPLORED_PLANS and PIPESIM_EXPLORED_FIRST_SEED choose other plans.
#include "sim/interleavings/exploration.hpp"

#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>

#include "sim/determinacy.hpp"
#include "sim/engine.hpp"
#include "sim/interleavings/happens_before.hpp"
#include "sim/interleavings/potential_cycles.hpp"
#include "tests/support/catch.hpp"
#include "tests/twin/random_spec.hpp"
#include "tests/twin/to_plan.hpp"

using namespace pipesim;

namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

sim::ExploreOptions options(bool reduce) {
  sim::ExploreOptions options;
  options.max_states = 2000;
  options.walks = 0;
  options.reduce = reduce;
  options.look_for_cycles = false;
  options.open_devices = false;  // every run keeps the devices of the plan
  return options;
}

sim::RunOptions random_timing(std::uint64_t seed) {
  sim::RunOptions options;
  options.jitter.free = true;
  options.jitter.seed = seed;
  return options;
}

int random_hangs(const sim::Plan& plan, std::uint64_t count, std::uint64_t seed) {
  int found = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!sim::run(plan, random_timing(seed * 1000 + i)).completed()) ++found;
  }
  return found;
}

// Checks that the times of a run are in the order that happens-before gives.
void check_happens_before(const sim::Plan& plan, const sim::HappensBefore& happens_before,
                          std::uint64_t seed) {
  sim::RunOptions options = random_timing(seed);
  options.keep_op_times = true;
  options.engine = sim::EngineKind::kEvents;
  const sim::Outcome outcome = sim::run(plan, options);
  struct Moment {
    sim::HappensBefore::Node node;
    sim::Time time;
  };
  std::vector<Moment> moments;
  for (const sim::ActorId id : ids_of(plan.actors)) {
    for (std::uint32_t k = 0; k < plan.actors[id].ops; ++k) {
      const sim::OpTimes& times = outcome.op_times.of(id, k);
      moments.push_back({happens_before.node(id, k, sim::Phase::kLaunch), times.launch});
      moments.push_back({happens_before.node(id, k, sim::Phase::kEnd), times.end});
    }
  }
  for (const Moment& later : moments) {
    if (later.time == sim::kNever) continue;
    CHECK_FALSE(happens_before.never(later.node));
    for (const Moment& earlier : moments) {
      if (!happens_before.before(earlier.node, later.node)) continue;
      if (earlier.time != sim::kNever && earlier.time <= later.time) continue;
      FAIL_CHECK("a node happened before another that it needs");
    }
  }
}

void check_replay(const sim::Plan& plan, const sim::Exploration& exploration) {
  if (exploration.hang.empty()) return;
  sim::RunOptions replay;
  replay.order = &exploration.hang;
  const sim::Outcome outcome = sim::run(plan, replay);
  CHECK(outcome.order_steps == exploration.hang.size());
  CHECK_FALSE(outcome.completed());
}

// Numbers of plans per kind of outcome.
struct Counts {
  int compared = 0;
  int hangs = 0;
  int both = 0;
  int fixed = 0;
  int without_cycles = 0;
  int in_vain = 0;
  int tried_long = 0;
};

// Checks that a plan without potential cycles of waits hangs in no interleaving.
void check_cycles(const sim::Plan& plan, const sim::HappensBefore& happens_before,
                  const sim::Exploration& all, Counts& counts) {
  const sim::PotentialCycles cycles = sim::potential_cycles(plan, happens_before, 100'000);
  if (cycles == sim::PotentialCycles::kNone) {
    ++counts.without_cycles;
    CHECK_FALSE(all.hang_found);
  } else if (cycles == sim::PotentialCycles::kPossible && !all.hang_found) {
    ++counts.in_vain;
  }
}

// Checks that a plan that never hangs in the search also hangs in no random timing.
void check_proof(const sim::Plan& plan, std::uint64_t seed, Counts& counts) {
  // Spends many tries only on plans in which timing can matter.
  const bool try_long = sim::determinacy_obstacle(plan) != nullptr && counts.tried_long < 20;
  if (try_long) ++counts.tried_long;
  CHECK(random_hangs(plan, try_long ? 1000 : 3, seed) == 0);
}

void compare(const sim::Plan& plan, std::uint64_t seed, Counts& counts) {
  const sim::Exploration all = sim::explore(plan, options(false));
  if (all.method != sim::Method::kExploration) return;
  ++counts.compared;
  INFO("seed " << seed);
  const sim::Exploration some = sim::explore(plan, options(true));
  REQUIRE(some.method != sim::Method::kSearch);
  CHECK(some.hang_found == all.hang_found);
  CHECK(some.completion_found == all.completion_found);
  CHECK(some.answer == all.answer);
  if (some.hang_found) ++counts.hangs;
  if (some.hang_found && some.completion_found) ++counts.both;
  const sim::HappensBefore happens_before(plan, 1 << 14);
  check_cycles(plan, happens_before, all, counts);
  check_happens_before(plan, happens_before, seed);
  if (some.answer == sim::Answer::kProved) check_proof(plan, seed, counts);
  CHECK((sim::run(plan).completed() ? all.completion_found : all.hang_found));
  if (sim::determinacy_obstacle(plan) == nullptr) {
    ++counts.fixed;
    CHECK(all.hang_found != all.completion_found);
  }
  check_replay(plan, all);
  check_replay(plan, some);
}

}  // namespace

TEST_CASE("following interleavings that differ in effect finds all ends", "[twin]") {
  constexpr std::uint64_t kMaxOps = 24;
  constexpr std::uint64_t kPlans = 16'000;
  const std::uint64_t plans = from_environment("PIPESIM_EXPLORED_PLANS", kPlans);
  const std::uint64_t first = from_environment("PIPESIM_EXPLORED_FIRST_SEED", 1);
  Counts counts;
  for (std::uint64_t seed = first; seed < first + plans; ++seed) {
    const sim::Plan plan = twin::to_plan(twin::without_faults(twin::random_spec(seed)));
    if (plan.op_count <= kMaxOps) compare(plan, seed, counts);
  }
  // The outcome of this plan depends on an initialization that waits for devices, which is rare.
  compare(twin::to_plan(twin::without_faults(twin::random_spec(47376))), 47376, counts);
  INFO(counts.compared << " plans were compared, " << counts.hangs << " can hang, " << counts.both
                       << " of them may not, " << counts.fixed << " do not depend on timing; "
                       << counts.without_cycles << " have no cycle of waits, " << counts.in_vain
                       << " have, and yet do not hang");
  if (first != 1 || plans < kPlans) return;
  CHECK(counts.compared > 2000);
  CHECK(counts.tried_long == 20);
  CHECK(counts.both > 40);
  CHECK(counts.fixed > 200);
  CHECK(counts.without_cycles > 50);
}
