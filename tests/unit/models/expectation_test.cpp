#include "models/expectation.hpp"

#include <string>
#include <vector>

#include "tests/support/catch.hpp"

using namespace pipesim;
using namespace pipesim::models;

namespace {

// A deadlock at 24 us whose cycle is gather -> buffer -> gather.
Explanation deadlock() {
  Explanation explanation;
  explanation.verdict = sim::Verdict::kDeadlock;
  explanation.time_ns = 24'000;
  for (const char* op : {"gather", "buffer"}) {
    Wait wait;
    wait.from.act.op = op;
    explanation.cycle.push_back(wait);
  }
  return explanation;
}

}  // namespace

TEST_CASE("what an expectation does not say is not checked", "[models][expectation]") {
  CHECK(unmet(Expectation(), deadlock()).empty());
}

TEST_CASE("an expectation that is met says nothing", "[models][expectation]") {
  Expectation expectation;
  expectation.verdict = sim::Verdict::kDeadlock;
  expectation.time_ns = 24'000;
  expectation.cycle_length = 2;
  expectation.cycle_through = {"buffer", "gather"};
  CHECK(unmet(expectation, deadlock()).empty());
}

TEST_CASE("everything that is not met is told", "[models][expectation]") {
  Expectation expectation;
  expectation.verdict = sim::Verdict::kCompleted;
  expectation.time_ns = 37'000;
  expectation.cycle_length = 6;
  expectation.cycle_through = {"gather", "reduce"};
  CHECK(unmet(expectation, deadlock()) ==
        std::vector<std::string>{"expected verdict completed, found deadlock",
                                 "expected time 37000 ns, found 24000 ns",
                                 "expected cycle length 6, found 2",
                                 "expected a cycle through 'reduce', which is not on it"});
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
