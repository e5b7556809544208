// Runs the shipped scenarios in the twin, an implementation of the rules that shares no code with
// the engine: times, end states and fingerprints are equal.
#include "tests/twin/twin.hpp"

#include <cstdint>
#include <map>
#include <string>

#include "models/result/simulation.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"
#include "tests/twin/to_plan.hpp"

using namespace pipesim;

namespace {

void compare(const std::string& path, const testing::Settings& settings) {
  const models::Simulation ours = testing::simulate(testing::load(path, settings).graph,
                                                    {.keep_op_times = true, .keep_log = true});
  const twin::Result twins = twin::simulate(twin::from_plan(ours.lowered.plan));
  CHECK(static_cast<int>(twins.verdict) == static_cast<int>(ours.explanation.verdict));
  CHECK(twins.last_progress == ours.explanation.time_ns);
  CHECK(twins.fingerprint == ours.explanation.fingerprint);
  CHECK(twins.waits.size() == ours.waits.edges.size());
  CHECK(twins.log.size() == ours.outcome.log.size());
  const std::map<twin::Op, std::int64_t> enters = twin::enters_of(twins);
  for (const sim::ActorId actor : ids_of(ours.lowered.plan.actors)) {
    for (std::uint32_t k = 0; k < ours.lowered.plan.actors[actor].ops; ++k) {
      const sim::OpTimes& times = ours.outcome.op_times.of(actor, k);
      const twin::Op op{static_cast<int>(actor.value), static_cast<int>(k)};
      const twin::Times expected = twin::times_of(twins, op);
      const std::int64_t enter = enters.contains(op) ? enters.at(op) : -1;
      if (times.launch.ns == expected.launch && times.start.ns == expected.start &&
          times.end.ns == expected.end && times.enter.ns == enter) {
        continue;
      }
      FAIL_CHECK("act " << k << " of actor " << actor.value << " has other times");
    }
  }
}

}  // namespace

TEST_CASE("the twin finds the same in every scenario and setting", "[scenarios][twin]") {
  for (const std::string& path : testing::scenario_paths()) {
    INFO(path);
    compare(path, {});
    for (const models::Expectation& expectation : testing::load(path).expectations) {
      INFO("the expectation in line " << expectation.place.line);
      compare(path, expectation.with);
    }
  }
}
