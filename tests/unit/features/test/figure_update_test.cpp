#include "features/test/figure_update.hpp"

#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"

using namespace pipesim;
using namespace pipesim::formats;

namespace {

const std::string kHead = "schema: 1\nparams: {t: 5us}\nactors: {a: {source: 3, takes: 2us}}\n";

// Returns `text` with the figures of all its expectations updated.
UpdatedText updated(const std::string& text, bool names = false) {
  std::vector<Figure> all;
  const Scenario scenario = testing::scenario_of(text);
  for (const models::Expectation& expectation : scenario.expectations) {
    const models::TaskGraph graph = testing::scenario_of(text, expectation.with).graph;
    const std::vector<Figure> figures =
        figures_of(expectation, graph, testing::simulate(graph, {.keep_op_times = true}), names);
    all.insert(all.end(), figures.begin(), figures.end());
  }
  return update_figures(text, all);
}

std::string after(const std::string& expectations, bool names = false) {
  const UpdatedText result = updated(kHead + expectations, names);
  CHECK(result.refused.empty());
  CHECK(updated(result.text, names).text == result.text);
  CHECK(result.text.substr(0, kHead.size()) == kHead);
  return result.text.substr(kHead.size());
}

}  // namespace

TEST_CASE("only the figure changes, whatever stands around it", "[formats][figure_update]") {
  CHECK(after("expect: {verdict: completed, time: 7us}\n") ==
        "expect: {verdict: completed, time: 6us}\n");
  CHECK(after("expect:\n  verdict: completed\n  time:   0.5 ms   # was slow\n\n# end") ==
        "expect:\n  verdict: completed\n  time:   6us   # was slow\n\n# end");
}

TEST_CASE("line ends and quotes stay", "[formats][figure_update]") {
  CHECK(after("expect:\r\n  - time: \"7us\"\r\n  - {time: 8us }\r\n") ==
        "expect:\r\n  - time: \"6us\"\r\n  - {time: 6us }\r\n");
  CHECK(after("expect: {time: 0}") == "expect: {time: 6us}");
  CHECK(after("expect: {time: 7us,cycle_length: 4}") == "expect: {time: 6us,cycle_length: 0}");
}

TEST_CASE("what is right stays as it is written", "[formats][figure_update]") {
  const std::string same = "expect: [{time: 6000ns}, {time: t + 1us}, {time: {at_most: 6us}}]\n";
  CHECK(after(same) == same);
}

TEST_CASE("bounds are no figure, and another end is not taken over", "[formats][figure_update]") {
  const std::string bounds = "expect: {time: {at_most: 1us}}\n";
  CHECK(after(bounds) == bounds);
  const std::string hang = "expect: {verdict: deadlock, time: 1us}\n";
  CHECK(after(hang) == hang);
  CHECK(after(hang, true) == "expect: {verdict: completed, time: 6us}\n");
  CHECK(after("expect: {cause: dead rank, verdict: starved # x\n}\n", true) ==
        "expect: {cause: none, verdict: completed # x\n}\n");
}

TEST_CASE("sizes are figures, too", "[formats][figure_update]") {
  const std::string head =
      "schema: 1\nranks: 2\nmemory: 1GiB * (rank + 1)\nactors: {a: {source: 3, bytes: 3MiB, takes: "
      "1us}}\nexpect: ";
  const auto memory = [&](const std::string& expected) {
    const UpdatedText result = updated(head + "{memory: " + expected + "}\n");
    CHECK(result.refused.empty());
    const std::size_t begin = head.size() + 9;
    return result.text.substr(begin, result.text.size() - begin - 2);
  };
  CHECK(memory("5 GiB") == "2051MiB");
  CHECK(memory("[{on: 0, exactly: 0}, {on: 1, reserved: on, exactly: 7B}, {at_most: 1B}]") ==
        "[{on: 0, exactly: 1027MiB}, {on: 1, reserved: on, exactly: 2051MiB}, {at_most: 1B}]");
  CHECK(memory("2051MiB") == "2051MiB");
  CHECK(updated(head + "{memory: 2 * 3MiB}\n").refused.size() == 1);
}

TEST_CASE("an expression is refused", "[formats][figure_update]") {
  const std::string text = kHead + "expect: {time: 2 * t}\n";
  const UpdatedText result = updated(text);
  CHECK(result.text == text);
  REQUIRE(result.refused.size() == 1);
  CHECK(result.refused[0] == models::Place{4, 16});
  CHECK(updated(kHead + "expect: {time: 5us + 2us}\n").refused.size() == 1);
  CHECK(updated(kHead + "expect: {time: (7us)}\n").refused.size() == 1);
  CHECK(updated(kHead + "expect: {time: &x 7us}\n").text.find("&x ") != std::string::npos);
}

TEST_CASE("what several tests share has to come out the same for all", "[formats][figure_update]") {
  const auto shared = [](const std::string& takes) {
    return "schema: 1\nparams: {t: 2us}\nactors: {a: {source: 3, takes: " + takes +
           "}}\nexpect:\n  - &e {verdict: completed, time: 7us}\n  - *e\n";
  };
  const UpdatedText good = updated(shared("t"));
  CHECK(good.refused.empty());
  CHECK(good.text.find("time: 6us") != std::string::npos);
  // If two expected figures of one place differ, neither is right for both.
  Figure first{models::Aspect::kTime, {4, 16}, "6us", "", true};
  Figure second = first;
  second.text = "7us";
  second.changed = false;
  const std::string text = kHead + "expect: {time: 7us}\n";
  const UpdatedText bad = update_figures(text, {first, second});
  CHECK(bad.text == text);
  CHECK(bad.refused.size() == 1);
}
