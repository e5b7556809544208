// Following all orders against following those that differ in effect, on random plans: the same
// ends must be found, every order that hangs must do so in a run, and where timing decides nothing
// all orders must have one end.
//
// PIPESIM_EXPLORED_PLANS and PIPESIM_EXPLORED_FIRST_SEED choose other plans.
#include "sim/exploration.hpp"

#include <cstdint>
#include <cstdlib>
#include <utility>

#include "sim/engine.hpp"
#include "sim/precedence.hpp"
#include "sim/timing.hpp"
#include "sim/wait_circles.hpp"
#include "tests/support/catch.hpp"
#include "tests/twin/random_spec.hpp"
#include "tests/twin/to_plan.hpp"

using namespace pipesim;

namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

bool completes(const sim::Outcome& outcome) {
  return outcome.end == sim::RunEnd::kCompleted && outcome.mismatches.empty();
}

sim::ExploreOptions options(bool reduce) {
  sim::ExploreOptions options;
  options.max_states = 2000;
  options.walks = 0;
  options.reduce = reduce;
  options.look_for_circles = false;
  return options;
}

}  // namespace

TEST_CASE("the orders that are followed have all the ends that there are", "[twin]") {
  constexpr std::uint64_t kMostActs = 24;
  const std::uint64_t plans = from_environment("PIPESIM_EXPLORED_PLANS", 20'000);
  const std::uint64_t first = from_environment("PIPESIM_EXPLORED_FIRST_SEED", 1);
  int compared = 0;
  int hangs = 0;
  int both = 0;
  int fixed = 0;
  int without_circles = 0;
  int in_vain = 0;
  std::uint64_t states = 0;
  std::uint64_t all_states = 0;
  for (std::uint64_t seed = first; seed < first + plans; ++seed) {
    const sim::Plan plan = twin::to_plan(twin::without_faults(twin::random_spec(seed)));
    if (plan.act_count > kMostActs) continue;
    const sim::Exploration all = sim::explore(plan, options(false));
    if (all.method != sim::Method::kExploration) continue;
    ++compared;
    INFO("seed " << seed);
    const sim::Exploration some = sim::explore(plan, options(true));
    REQUIRE(some.method != sim::Method::kSearch);
    CHECK(some.hang_found == all.hang_found);
    CHECK(some.completion_found == all.completion_found);
    CHECK(some.answer == all.answer);
    if (some.hang_found) ++hangs;
    if (some.hang_found && some.completion_found) ++both;
    states += some.states;
    all_states += all.states;

    // What says that no circle of waits is possible needs no orders.
    const sim::Precedence precedence(plan, 1 << 14);
    const sim::WaitCircles circles = sim::wait_circles(plan, precedence, 100'000);
    if (circles == sim::WaitCircles::kNone) {
      ++without_circles;
      CHECK_FALSE(all.hang_found);
    } else if (circles == sim::WaitCircles::kPossible && !all.hang_found) {
      ++in_vain;
    }

    const sim::Outcome timed = sim::run(plan);
    CHECK((completes(timed) ? all.completion_found : all.hang_found));
    if (sim::timing_obstacle(plan) == nullptr) {
      ++fixed;
      CHECK(all.hang_found != all.completion_found);
    }
    for (const sim::Exploration* exploration : {&all, &some}) {
      if (exploration->hang.empty()) continue;
      sim::RunOptions replay;
      replay.order = &exploration->hang;
      const sim::Outcome outcome = sim::run(plan, replay);
      CHECK(outcome.order_steps == exploration->hang.size());
      CHECK_FALSE(completes(outcome));
    }
  }
  INFO(compared << " plans were compared, " << hangs << " can hang, " << both << " of them may not, "
                << fixed << " do not depend on timing; " << states << " forks of " << all_states
                << "; " << without_circles << " have no circle of waits, " << in_vain
                << " have, and yet do not hang");
  if (std::getenv("PIPESIM_EXPLORED_SHOW")) WARN("shown");
  if (first == 1 && plans >= 20'000) {
    CHECK(compared > 2000);
    CHECK(both > 100);
    CHECK(fixed > 200);
  }
}
