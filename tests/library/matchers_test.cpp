// The matchers for Catch2: the results that they accept, and their messages.
#include <chrono>
#include <string>

#include "pipesim/catch2.hpp"
#include "pipesim/pipesim.hpp"
#include "tests/support/catch.hpp"

using namespace pipesim;
using namespace std::chrono_literals;

namespace {

Result deadlock() { return run(load_scenario("scenarios/buffer_on_the_wrong_stream.yaml")); }
Result completed() { return run(load_scenario("scenarios/buffer_on_the_right_stream.yaml")); }

Result starved() {
  GraphBuilder job("starved", 2);
  job.group("tp");
  job.program("main", 0).call("all_reduce", "tp");
  return run(job.build());
}

}  // namespace

TEST_CASE("matchers of verdicts", "[library][matchers]") {
  CHECK_THAT(completed(), completes() && !deadlocks());
  CHECK_THAT(deadlock(), deadlocks() && !completes());
  CHECK_THAT(starved(), has_verdict(Verdict::kStarved) && !deadlocks() && !completes());
}

TEST_CASE("matchers of causes", "[library][matchers]") {
  CHECK_THAT(deadlock(), deadlocks_through("gather"));
  CHECK_THAT(deadlock(), deadlocks_through("buffer", std::string("table")) && cycle_has(6));
  CHECK_THAT(deadlock(), !deadlocks_through("gather", "loss") && !cycle_has(5));
  CHECK_THAT(completed(), !deadlocks_through() && cycle_has(0));
  CHECK_THAT(starved(), waits_for_rank(1) && !waits_for_rank(0));
}

TEST_CASE("matchers of times need a run that completes", "[library][matchers]") {
  CHECK_THAT(completed(), takes(37us) && takes_at_most(37us) && !takes_at_most(36us));
  CHECK_THAT(completed(), !takes(36us));
  CHECK_THAT(deadlock(), !takes(24us) && !takes_at_most(1s));
}

TEST_CASE("matchers say what they ask for", "[library][matchers]") {
  CHECK((deadlocks_through("a", "b") && cycle_has(6)).describe() ==
        "( deadlocks through 'a' 'b' and has a cycle of 6 waits )");
  CHECK(has_verdict(Verdict::kCrashed).describe() == "has the verdict crashed");
  CHECK(takes(2us).describe() == "completes in exactly 2000 ns");
  CHECK(takes_at_most(2us).describe() == "completes in at most 2000 ns");
  CHECK(waits_for_rank(3).describe() == "has acts that wait for rank 3");
}

TEST_CASE("two graphs that differ are shown by what differs", "[library][matchers]") {
  const auto step = [](std::uint32_t slots, const char* extra) {
    GraphBuilder job("step", 1);
    job.actor("load").source(4);
    job.actor("work").reads("load").slots(slots).stream("compute");
    if (*extra != '\0') job.actor(extra).reads("work");
    return job.build();
  };
  const Graph expected = step(2, "");
  CHECK_THAT(step(2, ""), says_the_same_as(expected));
  CHECK_THAT(step(3, ""), !says_the_same_as(expected));
  CHECK(difference(expected, step(2, "")).empty());
  const auto matcher = says_the_same_as(expected);
  CHECK_FALSE(matcher.match(step(3, "loss")));
  const std::string text = matcher.describe();
  INFO(text);
  CHECK(text.find("slots: 2 -> 3") != std::string::npos);
  CHECK(text.find("+ actor loss") != std::string::npos);
}
