// Compares the exploration with a search of every interleaving, one by one (orders.hpp), on plans
// of at most 12 ops. The exploration must find a hang or a completion if and only if one exists.
// Its answer must be right with and without its reductions, and without random walks.
//
// PIPESIM_ORDERS_PLANS and PIPESIM_ORDERS_FIRST_SEED choose other plans. The default is 1,000
// plans; the test preset asan compares 100.
#include "tests/orders/orders.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <utility>

#include "sim/interleavings/exploration.hpp"
#include "tests/orders/small_spec.hpp"
#include "tests/support/catch.hpp"
#include "tests/twin/random.hpp"
#include "tests/twin/random_spec.hpp"
#include "tests/twin/to_plan.hpp"

namespace pipesim::twin {
namespace {

constexpr int kMaxOps = 12;
constexpr std::size_t kMaxStates = 4'000;

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

int ops_of(const Spec& spec) {
  int ops = 0;
  for (const Actor& actor : spec.actors) ops += actor.ops;
  return ops;
}

/// Makes a plan tight, which often changes its outcome: short launch queues, and devices with one
/// kernel slot.
void make_tight(Spec& spec, Random& random) {
  for (Stream& stream : spec.streams) {
    if (random.chance(20)) stream.launch_queue = 1;
  }
  for (Device& device : spec.devices) {
    if (random.chance(30)) device.resident = 1;
    if (random.chance(20)) device.launch_queue = random.between(1, 2);
  }
  // On a device with one kernel slot, an op can need only one slot.
  for (Actor& actor : spec.actors) {
    if (actor.stream < 0) continue;
    const int device = spec.streams[static_cast<std::size_t>(actor.stream)].device;
    if (device < 0 || spec.devices[static_cast<std::size_t>(device)].resident != 1) continue;
    actor.kernel_slots = std::min(actor.kernel_slots, 1);
    actor.gang = 1;
  }
}

std::optional<Spec> plan_of(std::uint64_t seed) {
  std::optional<Spec> spec =
      seed % 3 == 0 ? std::optional(without_faults(random_spec(seed / 3))) : small_spec(seed);
  if (!spec || ops_of(*spec) == 0 || ops_of(*spec) > kMaxOps) return std::nullopt;
  Random random(seed ^ 0x7197);
  if (random.chance(40)) make_tight(*spec, random);
  return spec;
}

sim::Answer answer_of(const Ends& ends) {
  if (!ends.hangs) return sim::Answer::kProved;
  if (ends.completes) return sim::Answer::kHangPossible;
  return ends.stuck ? sim::Answer::kHangCertain : sim::Answer::kMismatch;
}

sim::ExploreOptions options(bool reduce, bool look_for_cycles) {
  sim::ExploreOptions options;
  // Continues after a hang, to find whether all interleavings hang.
  options.max_states_after_hang = options.max_states;
  options.walks = 0;
  options.open_devices = false;
  options.reduce = reduce;
  options.look_for_cycles = look_for_cycles;
  return options;
}

void compare(const Spec& spec, const Ends& ends, std::uint64_t seed) {
  INFO("seed " << seed << "\n" << text(spec));
  const sim::Plan plan = to_plan(spec);
  for (const auto& [reduce, look_for_cycles] :
       {std::pair(true, true), std::pair(true, false), std::pair(false, false)}) {
    INFO("reduce " << reduce << ", look for cycles " << look_for_cycles);
    CHECK(sim::explore(plan, options(reduce, look_for_cycles)).answer == answer_of(ends));
  }
}

}  // namespace

// Compares plans that long runs found, in which rare features interact.
TEST_CASE("check says what all orders of plans that were found say", "[twin]") {
  for (const std::uint64_t seed : {114220U, 116399U}) {
    const std::optional<Spec> spec = plan_of(seed);
    REQUIRE(spec);
    const Ends ends = ends_of_all_orders(*spec, kMaxStates);
    REQUIRE((ends.all && ends.hangs && ends.completes));
    compare(*spec, ends, seed);
  }
}

TEST_CASE("check says what all orders of recvs from any rank say", "[twin]") {
  const std::uint64_t plans = from_environment("PIPESIM_ORDERS_PLANS", 1000) / 4;
  const std::uint64_t first = from_environment("PIPESIM_ORDERS_FIRST_SEED", 1);
  std::uint64_t compared = 0;
  std::uint64_t hang = 0;
  std::uint64_t both = 0;
  for (std::uint64_t seed = first; compared < plans; ++seed) {
    const Spec spec = spec_with_any_source(seed);
    const Ends ends = ends_of_all_orders(spec, kMaxStates);
    if (!ends.all) continue;
    ++compared;
    if (ends.hangs) ++hang;
    if (ends.hangs && ends.completes) ++both;
    compare(spec, ends, seed);
  }
  INFO("of those compared " << hang << " can hang, and " << both << " can complete, too");
  CHECK(hang > plans / 5);
  CHECK(hang < plans);
  CHECK(both > plans / 20);
}

TEST_CASE("check says what all orders of a small plan say", "[twin]") {
  const std::uint64_t plans = from_environment("PIPESIM_ORDERS_PLANS", 1000);
  const std::uint64_t first = from_environment("PIPESIM_ORDERS_FIRST_SEED", 1);
  std::uint64_t compared = 0;
  std::uint64_t too_large = 0;
  std::uint64_t hang = 0;
  std::uint64_t both = 0;
  for (std::uint64_t seed = first; compared < plans; ++seed) {
    const std::optional<Spec> spec = plan_of(seed);
    if (!spec) continue;
    const Ends ends = ends_of_all_orders(*spec, kMaxStates);
    if (!ends.all) {
      ++too_large;
      continue;
    }
    ++compared;
    if (ends.hangs) ++hang;
    if (ends.hangs && ends.completes) ++both;
    compare(*spec, ends, seed);
  }
  INFO(too_large << " plans have more than " << kMaxStates << " states; of those compared " << hang
                 << " can hang, and " << both << " of these can complete, too");
  if (first != 1) return;
  CHECK(too_large < plans);
  CHECK(hang > plans / 5);
  CHECK(both > plans / 20);
}

}  // namespace pipesim::twin
