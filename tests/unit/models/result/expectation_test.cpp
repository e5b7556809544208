#include "models/result/expectation.hpp"

#include <string>
#include <vector>

#include "tests/support/catch.hpp"

#include "features/test/test_text.hpp"

using namespace pipesim;
using namespace pipesim::models;

namespace {

// Returns the simulation of a deadlock at 24 us with the cycle gather -> buffer -> gather.
Simulation deadlock() {
  Simulation run;
  Explanation& explanation = run.explanation;
  explanation.cause = Cause::kCycle;
  explanation.verdict = sim::Verdict::kDeadlock;
  explanation.time_ns = 24'000;
  for (const char* op : {"gather", "buffer"}) {
    Wait wait;
    wait.from.op.name = op;
    explanation.cycle.push_back(wait);
  }
  return run;
}

std::vector<std::string> told(const Expectation& expectation, const Simulation& run) {
  std::vector<std::string> result;
  for (const Unmet& item : unmet(expectation, TaskGraph(), run)) {
    result.push_back(viz::unmet_text(item));
  }
  return result;
}

}  // namespace

TEST_CASE("what an expectation does not say is not checked", "[models][expectation]") {
  CHECK(told(Expectation(), deadlock()).empty());
}

TEST_CASE("an expectation that is met says nothing", "[models][expectation]") {
  Expectation expectation;
  expectation.verdict = {{}, sim::Verdict::kDeadlock};
  expectation.cause = {{}, Cause::kCycle};
  expectation.time_ns = {{}, Bounds::exactly(24'000)};
  expectation.cycle_length = {{}, 2};
  expectation.cycle_through = {{{}, "buffer"}, {{}, "gather"}};
  expectation.roots = {{}, RankSet()};
  CHECK(told(expectation, deadlock()).empty());
}

TEST_CASE("without sizes no memory is right", "[models][expectation]") {
  Expectation expectation;
  expectation.memory.push_back({{}, Bounds::exactly(0), RankSet::range(0, 1), true});
  CHECK(told(expectation, deadlock()) ==
        std::vector<std::string>{
            "expected reserved memory 0 B, but nothing in the scenario has a size"});
}

TEST_CASE("everything that is not met is reported", "[models][expectation]") {
  Expectation expectation;
  expectation.verdict = {{}, sim::Verdict::kCompleted};
  expectation.cause = {{}, Cause::kNone};
  expectation.time_ns = {{}, Bounds::exactly(37'000)};
  expectation.cycle_length = {{}, 6};
  expectation.cycle_through = {{{}, "gather"}, {{}, "reduce"}};
  expectation.roots = {{}, RankSet({0, 2})};
  CHECK(told(expectation, deadlock()) ==
        std::vector<std::string>{
            "expected verdict completed, found deadlock", "expected cause none, found cycle",
            "expected time 37 us, found 24 us", "expected a cycle of 6 waits, found 2",
            "expected a cycle through 'reduce', which is not on it",
            "expected waits to end at ranks 0 and 2, found none"});
}

TEST_CASE("both ends of bounds are allowed", "[models][expectation]") {
  const auto time = [](Bounds bounds) {
    Expectation expectation;
    expectation.time_ns = {{}, bounds};
    return told(expectation, deadlock());
  };
  CHECK(time({24'000, 25'000}).empty());
  CHECK(time({23'000, 24'000}).empty());
  Bounds open;
  open.most = 23'999;
  CHECK(time(open) == std::vector<std::string>{"expected time at most 23.999 us, found 24 us"});
  CHECK(time({24'001, 30'000}) ==
        std::vector<std::string>{"expected time from 24.001 us to 30 us, found 24 us"});
}

TEST_CASE("each cause that a run can have has a name that leads back", "[models][expectation]") {
  for (const std::string& name : cause_names()) {
    REQUIRE(find_cause(name).has_value());
    CHECK(cause_name(*find_cause(name)) == name);
  }
  CHECK(cause_names().size() == 8);
  // Ends that the user requests cannot be expected.
  CHECK(!find_cause("until").has_value());
  CHECK(!find_cause("interrupted").has_value());
}

TEST_CASE("each verdict has a name, and the name leads back", "[models][expectation]") {
  const std::vector<std::string> names = {"completed", "deadlock", "starved",
                                          "mismatch",  "crashed",  "limit"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto verdict = static_cast<sim::Verdict>(i);
    CHECK(verdict_name(verdict) == names[i]);
    CHECK(find_verdict(names[i]) == verdict);
  }
  CHECK(!find_verdict("hangs").has_value());
  CHECK(!find_verdict("").has_value());
}
