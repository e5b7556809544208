// Compares pipesim with SPIN, a model checker: whether a plan hangs in some interleaving, and
// whether in all. Plans are random and small; the outcome of many plans depends on the
// interleaving.
//
// The engine is a third opinion: each of its runs with random times is one interleaving, so its end
// must be one of the ends that SPIN finds.
//
// PIPESIM_ORACLE_PLANS and PIPESIM_ORACLE_FIRST_SEED choose other plans, for a long run or to
// repeat one plan: PIPESIM_ORACLE_FIRST_SEED=123 PIPESIM_ORACLE_PLANS=1.
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/engine.hpp"
#include "sim/interleavings/exploration.hpp"
#include "tests/oracle/promela_writer.hpp"
#include "tests/oracle/spin.hpp"
#include "tests/orders/small_spec.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folder.hpp"
#include "tests/twin/random.hpp"
#include "tests/twin/to_plan.hpp"

namespace pipesim::oracle {
namespace {

constexpr std::uint64_t kPlans = 150;
constexpr std::uint64_t kFirstSeed = 1;
constexpr std::uint64_t kMaxStates = 60000;
constexpr int kRuns = 20;

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

/// Draws other times for the plan; some are many times longer than others.
void draw_times(twin::Spec& spec, twin::Random& random) {
  const int usual = 100 * random.between(1, 4);
  const auto time = [&] {
    if (random.chance(20)) return 0;
    return random.below(random.chance(25) ? 1000 : usual);
  };
  for (twin::Actor& actor : spec.actors) {
    actor.takes = time();
    actor.launch_overhead = random.chance(50) ? 0 : time();
    actor.outside.first = time();
    actor.outside.every = time();
    for (twin::Call& call : actor.calls) call.takes = time();
  }
}

/// Returns whether some run with random times completes, and whether some run hangs.
Verdict verdict_of_runs(const twin::Spec& spec, std::uint64_t seed) {
  Verdict verdict;
  twin::Random random(seed);
  twin::Spec timed = spec;
  for (int i = 0; i < kRuns; ++i) {
    const sim::Outcome outcome = sim::run(twin::to_plan(timed));
    const bool completes = outcome.completed();
    (completes ? verdict.completes : verdict.hangs) = true;
    draw_times(timed, random);
  }
  return verdict;
}

std::string words_of(const Verdict& verdict) {
  if (verdict.completes && verdict.hangs) return "can hang and can complete";
  return verdict.hangs ? "always hangs" : "never hangs";
}

sim::Answer answer_of(const Verdict& verdict) {
  if (!verdict.hangs) return sim::Answer::kProved;
  return verdict.completes ? sim::Answer::kHangPossible : sim::Answer::kHangCertain;
}

/// Settings of an exploration: the defaults, no random walks, or every interleaving.
struct Way {
  std::string name;
  std::uint32_t walks = 0;
  bool reduce = true;
};

const std::vector<Way>& ways() {
  static const std::vector<Way> kWays = {
      {"as it is", 64, true}, {"without walks", 0, true}, {"every order", 0, false}};
  return kWays;
}

sim::Exploration explore(const sim::Plan& plan, const Way& way) {
  sim::ExploreOptions options;
  // Continues after a hang, to find whether all interleavings hang.
  options.max_states_after_hang = options.max_states;
  options.walks = way.walks;
  options.reduce = way.reduce;
  options.open_devices = false;
  return sim::explore(plan, options);
}

/// Whether a replay of the hanging interleaving in `found` hangs; if `found` has none, whether a
/// run in the plan's own times hangs.
bool hangs_as_found(const sim::Plan& plan, const sim::Exploration& found) {
  sim::RunOptions options;
  if (!found.hang.empty()) options.order = &found.hang;
  const sim::Outcome outcome = sim::run(plan, options);
  CHECK(outcome.order_steps == found.hang.size());
  return !outcome.completed();
}

using Counts = std::map<std::string, std::uint64_t>;

/// Compares `plans` plans made from seeds. Returns counts of their outcomes.
Counts compare(const std::function<std::optional<twin::Spec>(std::uint64_t)>& made,
               std::uint64_t plans) {
  const std::uint64_t first = from_environment("PIPESIM_ORACLE_FIRST_SEED", kFirstSeed);
  Counts counts;
  std::uint64_t compared = 0;
  for (std::uint64_t seed = first; compared < plans; ++seed) {
    INFO("seed " << seed);
    const std::optional<twin::Spec> spec = made(seed);
    if (!spec) continue;
    const sim::Plan plan = twin::to_plan(*spec);
    // The model lacks first uses, flows, and communicators with calls on several streams.
    if (!formats::promela_obstacle(plan).empty()) {
      ++counts["not in the model"];
      continue;
    }
    const Verdict verdict = ask_spin(plan, kMaxStates);
    if (verdict.gave_up) {
      ++counts["too large"];
      continue;
    }
    ++compared;
    ++counts[words_of(verdict)];
    counts["states, SPIN"] += verdict.states;
    for (const Way& way : ways()) {
      const sim::Exploration ours = explore(plan, way);
      counts["states, pipesim " + way.name] += ours.states;
      if (ours.method == sim::Method::kOneRun) ++counts["answered by one run"];
      CHECK(hangs_as_found(plan, ours) == verdict.hangs);
      if (ours.answer != answer_of(verdict)) {
        FAIL("SPIN: " << words_of(verdict) << "; pipesim, " << way.name << ": answer "
                      << static_cast<int>(ours.answer) << '\n'
                      << twin::text(*spec));
      }
    }
    const Verdict runs = verdict_of_runs(*spec, seed);
    if (runs.completes > verdict.completes || runs.hangs > verdict.hangs) {
      FAIL("SPIN: " << words_of(verdict) << "; the engine: " << words_of(runs) << '\n'
                    << twin::text(*spec));
    }
  }
  for (const auto& [what, count] : counts) std::cout << what << ": " << count << '\n';
  return counts;
}

}  // namespace

TEST_CASE("SPIN and pipesim agree on the orders of random plans", "[oracle]") {
  if (!has_spin()) return;
  const std::uint64_t plans = from_environment("PIPESIM_ORACLE_PLANS", kPlans);
  Counts counts = compare(twin::small_spec, plans);
  if (plans < kPlans) return;
  // Each outcome must be frequent, or agreement would prove little.
  CHECK(counts["never hangs"] * 4 >= plans);
  CHECK((counts["can hang and can complete"] + counts["always hangs"]) * 5 >= plans * 2);
  CHECK(counts["can hang and can complete"] * 5 >= plans);
  CHECK(counts["answered by one run"] * 20 >= plans);
}

// Compares groups, buffers and devices, which are rare in the plans of the test above.
TEST_CASE("SPIN and pipesim agree on groups, buffers and devices", "[oracle]") {
  if (!has_spin()) return;
  const std::uint64_t plans = from_environment("PIPESIM_ORACLE_PLANS", kPlans);
  Counts counts = compare(twin::spec_with_groups, plans);
  if (plans < kPlans) return;
  CHECK(counts["not in the model"] == 0);
  CHECK(counts["never hangs"] * 4 >= plans);
  CHECK((counts["can hang and can complete"] + counts["always hangs"]) * 4 >= plans);
}

}  // namespace pipesim::oracle
