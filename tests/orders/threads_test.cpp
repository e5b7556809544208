// Runs and explores plans in several threads at once, which must share no data in sim/.
// -fsanitize=thread reports races in this test.
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "sim/engine.hpp"
#include "sim/interleavings/exploration.hpp"
#include "tests/orders/small_spec.hpp"
#include "tests/support/catch.hpp"
#include "tests/twin/to_plan.hpp"

namespace pipesim::twin {
namespace {

constexpr std::uint64_t kSeeds = 60;

struct Found {
  std::vector<std::pair<std::uint64_t, sim::Answer>> answers;

  friend bool operator==(const Found&, const Found&) = default;
};

/// Returns, for each plan, the number of events of its run and the answer over all interleavings.
Found found_of(const std::vector<sim::Plan>& plans) {
  sim::ExploreOptions options;
  options.max_states = 300;
  Found found;
  for (const sim::Plan& plan : plans) {
    const sim::Outcome outcome = sim::run(plan);
    found.answers.emplace_back(outcome.events, sim::explore(plan, options, &outcome).answer);
  }
  return found;
}

}  // namespace

TEST_CASE("several threads explore the same plans at once", "[twin]") {
  std::vector<sim::Plan> plans;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    if (const auto spec = small_spec(seed)) plans.push_back(to_plan(*spec));
  }
  REQUIRE(plans.size() > kSeeds / 3);
  const Found alone = found_of(plans);
  std::vector<Found> found(4);
  std::vector<std::thread> threads;
  for (Found& own : found) {
    threads.emplace_back([&plans, &own] { own = found_of(plans); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Found& own : found) CHECK(own == alone);
}

}  // namespace pipesim::twin
