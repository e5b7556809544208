#include <string>

#include "formats/scenario/section_readers.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"

using namespace pipesim;
using models::Expectation;
using testing::mistakes_in;

namespace {

const std::string kHead = "schema: 1\nparams: {t: 5ms}\nranks: 4\nactors: {a: {source: 1}}\n";

Expectation expectation_of(const std::string& text, const testing::Settings& settings = {}) {
  return testing::scenario_of(kHead + "expect: " + text + "\n", settings).expectations.at(0);
}

models::Bounds time_of(const std::string& text) {
  return expectation_of("{time: " + text + "}").time_ns.value().value;
}

std::string expectation_mistakes(const std::string& text) {
  return mistakes_in(kHead + "expect: " + text + "\n");
}

}  // namespace

TEST_CASE("a time is exact, bounded, or about something", "[formats][expectation_reader]") {
  CHECK(time_of("5us") == models::Bounds::exactly(5'000));
  CHECK(time_of("2 * t") == models::Bounds::exactly(10'000'000));
  CHECK(time_of("{at_least: 1us, at_most: 2us}") == models::Bounds{1'000, 2'000});
  CHECK(time_of("{about: t, within: 1%}") == models::Bounds{4'950'000, 5'050'000});
  CHECK(time_of("{about: t, within: 0.05 %}") == models::Bounds{4'997'500, 5'002'500});
  CHECK(time_of("{about: t, within: 3ns}") == models::Bounds{4'999'997, 5'000'003});
  CHECK(time_of("{about: t, within: 1%, at_most: t}") == models::Bounds{4'950'000, 5'000'000});
  CHECK(time_of("{at_most: t}").most == 5'000'000);
  CHECK(time_of("{at_most: t}").contain(0));
}

TEST_CASE("an expectation stands in the terms of the setting", "[formats][expectation_reader]") {
  const Expectation found = expectation_of("{with: {t: 7us}, time: 2 * t}", {{"t", "7us"}});
  CHECK(found.time_ns.value().value == models::Bounds::exactly(14'000));
}

TEST_CASE("shares of idle time are exact", "[formats][expectation_reader]") {
  const Expectation found =
      expectation_of("{idle: [{at_most: 12.5%}, {on: 1..2, together: on, at_least: 0.0001%}]}");
  REQUIRE(found.idle.size() == 2);
  CHECK(found.idle[0].share.most == 125'000);
  CHECK(found.idle[0].on.size() == 4);
  CHECK(!found.idle[0].together);
  CHECK(found.idle[1].share.least == 1);
  CHECK(found.idle[1].on.size() == 2);
  CHECK(found.idle[1].together);
  CHECK(found.needs_op_times());
  CHECK(expectation_of("{idle: {at_most: 100%}}").idle.at(0).share.most == 1'000'000);
}

TEST_CASE("no time, size or count is below zero", "[formats][expectation_reader]") {
  for (const char* text :
       {"{time: -1us}", "{time: {about: -1us, within: 1%}}", "{time: {about: 1us, within: -1us}}",
        "{time: {at_most: -1us}}", "{memory: -1B}", "{memory: {about: -999999999MiB, within: 1%}}",
        "{cycle_length: -1}"}) {
    INFO(text);
    CHECK(expectation_mistakes(text).find("expected 0 or more, found") != std::string::npos);
  }
}

TEST_CASE("memory is exact, bounded, or about something", "[formats][expectation_reader]") {
  const auto memory_of = [](const std::string& text) {
    return expectation_of("{memory: " + text + "}").memory;
  };
  CHECK(memory_of("3GiB").at(0).bytes == models::Bounds::exactly(std::int64_t{3} << 30));
  CHECK(memory_of("3GiB").at(0).on.size() == 4);
  CHECK(expectation_of("{memory: 1B}").needs_op_times());
  const auto list = memory_of("[{on: 1..2, reserved: on, at_most: 1kB}, {on: 0, exactly: 5B}]");
  REQUIRE(list.size() == 2);
  CHECK(list[0].on.size() == 2);
  CHECK(list[0].reserved);
  CHECK(list[0].bytes.most == 1'000);
  CHECK(list[1].bytes == models::Bounds::exactly(5));
  CHECK(list[1].place == models::Place{5, 76});
  CHECK(memory_of("{about: 1kB, within: 1%}").at(0).bytes == models::Bounds{990, 1'010});
  CHECK(memory_of("{about: 1kB, within: 2B, at_least: 1kB}").at(0).bytes ==
        models::Bounds{1'000, 1'002});
}

TEST_CASE("ops are named as in reports", "[formats][expectation_reader]") {
  const Expectation one = expectation_of("{order: [a#1, send up#2, x#y#3]}");
  REQUIRE(one.order.size() == 1);
  CHECK(one.order[0][1].name == "send up");
  CHECK(one.order[0][1].number == 2);
  CHECK(one.order[0][2].name == "x#y");
  CHECK(!one.order[0][0].rank);
  const Expectation two = expectation_of("{order: [[rank 3 a#1, b#2], [rank up#1]]}");
  REQUIRE(two.order.size() == 2);
  CHECK(two.order[0][0].rank == 3);
  CHECK(two.order[0][0].name == "a");
  CHECK(two.order[1][0].name == "rank up");
  CHECK(expectation_of("{order: []}").order.empty());
}

TEST_CASE("causes, roots and cycles are read with their places", "[formats][expectation_reader]") {
  const Expectation found =
      expectation_of("{cause: dead rank, roots: [1, 3], cycle_length: 2, cycle_through: [a]}");
  CHECK(found.cause.value().value == models::Cause::kDeadRank);
  CHECK(found.roots.value().value.size() == 2);
  CHECK(found.cycle_length.value().value == 2);
  CHECK(found.cycle_through.at(0).place == models::Place{5, 76});
  CHECK(!found.needs_op_times());
}

TEST_CASE("mistakes in expectations have places and say what to write",
          "[formats][expectation_reader]") {
  CHECK(expectation_mistakes("{time: 5}") ==
        "5:16: expected a time, found '5'\n  a time needs a unit: ns, us, ms, s or min\n");
  CHECK(expectation_mistakes("{time: {about: 5us}}") ==
        "5:16: 'about' and 'within' go together: {about: 5ms, within: 1%}\n");
  CHECK(expectation_mistakes("{time: {}}") ==
        "5:16: 'time' needs 'at_least' or 'at_most', or 'about' and 'within'\n");
  CHECK(expectation_mistakes("{time: {at_least: 2us, at_most: 1us}}") ==
        "5:16: no value is within these bounds\n");
  CHECK(expectation_mistakes("{time: {at_mots: 2us, at_least: 1us}}") ==
        "5:17: unknown key 'at_mots' in 'time'\n  did you mean 'at_most'?\n");
  CHECK(expectation_mistakes("{idle: {at_most: 20}}") ==
        "5:26: expected a share from 0% to 100%, found '20'\n"
        "  write 20% or 12.5%; four decimals at most\n");
  CHECK(expectation_mistakes("{idle: {at_most: 101%}}").substr(0, 28) ==
        "5:26: expected a share from ");
  CHECK(expectation_mistakes("{idle: {at_most: -1%}}").substr(0, 28) ==
        "5:26: expected a share from ");
  CHECK(expectation_mistakes("{idle: {at_most: 1.00001%}}").substr(0, 28) ==
        "5:26: expected a share from ");
  CHECK(expectation_mistakes("{idle: {on: 0}}") == "5:16: 'idle' needs 'at_least' or 'at_most'\n");
  CHECK(expectation_mistakes("{idle: 20%}") == "5:16: 'idle' must be a map, found '20%'\n");
  CHECK(expectation_mistakes("{memory: 20}") ==
        "5:18: expected a size, found '20'\n"
        "  a size needs a unit: B, KiB, MiB, GiB, kB, MB or GB\n");
  CHECK(expectation_mistakes("{memory: {on: 0}}") ==
        "5:18: 'memory' needs 'exactly', 'at_least' or 'at_most', or 'about' and 'within'\n");
  CHECK(expectation_mistakes("{memory: {about: 1B}}") ==
        "5:18: 'about' and 'within' go together: {about: 3GiB, within: 1%}\n");
  CHECK(expectation_mistakes("{memory: {exactly: 1B, at_most: 2B}}") ==
        "5:32: 'at_most' cannot be combined with the other keys of 'memory'\n");
  CHECK(expectation_mistakes("{memory: {on: [], exactly: 1B}}") ==
        "5:18: 'memory' selects no rank\n");
  CHECK(expectation_mistakes("{order: a#1}") ==
        "5:17: 'order' must be a list of ops, [a#1, b#1], found 'a#1'\n");
  CHECK(expectation_mistakes("{order: [a]}") ==
        "5:18: expected an op, found 'a'\n"
        "  write name#1 or rank 0 name#1; ops count from 1\n");
  CHECK(expectation_mistakes("{order: [a#0]}").substr(0, 22) == "5:18: expected an op, ");
  CHECK(expectation_mistakes("{order: [[a#1], b#1]}") ==
        "5:25: expected a list of ops, found 'b#1'\n");
  CHECK(expectation_mistakes("{order: [a#1, rank 0 b#1]}") ==
        "5:18: either all ops name a rank, or none does\n");
  CHECK(expectation_mistakes("{order: [rank 4 a#1]}") ==
        "5:18: there is no rank 4: ranks are 0 to 3\n");
  CHECK(expectation_mistakes("{cause: until}").substr(0, 40) ==
        "5:17: expected one of none, mismatch, cy");
  CHECK(expectation_mistakes("{roots: 9}") == "5:17: there is no rank 9: ranks are 0 to 3\n");
}
