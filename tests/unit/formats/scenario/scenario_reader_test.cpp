#include <string>

#include "formats/scenario/scenario.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"

using namespace pipesim;
using testing::mistakes_in;

namespace {

const std::string kActor = "actors: {a: {source: 1}}\n";

// Returns a file with ten lists, each of which uses the previous list ten times.
std::string exploding_aliases() {
  std::string text = "schema: 1\nsets:\n  x0: &x0 [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string before = "*x" + std::to_string(i - 1) + " , ";
    const std::string name = "x" + std::to_string(i);
    std::string items;
    for (int copy = 0; copy < 10; ++copy) items += before;
    text += "  " + name + ": &" + name + " [" + items + "]\n";
  }
  return text + kActor;
}

}  // namespace

TEST_CASE("where text, a list or a map belongs, anything else is a mistake",
          "[formats][scenario_reader]") {
  CHECK(mistakes_in("schema: 1\nabout: [a]\n" + kActor) ==
        "2:8: 'about' must be text, found a list\n");
  CHECK(mistakes_in("schema: 1\nparams: {p: {one_of: shared, default: shared}}\n" + kActor) ==
        "2:22: 'one_of' must be a list of words\n");
  CHECK(mistakes_in("schema: 1\nparams: {p: {one_of: [], default: a}}\n" + kActor) ==
        "2:22: 'one_of' must be a list of words\n");
  CHECK(mistakes_in("schema: 1\nparams: {p: {one_of: [[a], b], default: b}}\n" + kActor) ==
        "2:22: 'one_of' must be a list of words\n");
  CHECK(mistakes_in("schema: 1\nactors: [a]\n") == "2:9: 'actors' must be a map, found a list\n");
  CHECK(mistakes_in("[a]\n") == "1:1: a scenario must be a map, found a list\n");
}

TEST_CASE("a parameter that is wrong is one mistake, not one for each use",
          "[formats][scenario_reader]") {
  std::string text = "schema: 1\nparams:\n  p0: 1/0\n";
  for (int i = 1; i < 60; ++i) {
    const std::string before = "p" + std::to_string(i - 1);
    text += "  p" + std::to_string(i) + ": " + before + " + " + before + "\n";
  }
  CHECK(mistakes_in(text + "actors: {a: {source: p59}}\n") ==
        "3:7: the default: division by zero\n");
  CHECK(mistakes_in("schema: 1\nparams: {p: {one_of: a}}\nactors: {a: {source: p}}\n") ==
        "2:13: a parameter needs the key 'default'\n");
}

TEST_CASE("aliases may not stand for more than anybody writes", "[formats][scenario_reader]") {
  const std::string mistakes = mistakes_in(exploding_aliases());
  INFO(mistakes);
  // The limit is 100,000 values, plus one for each 32 bytes of the file.
  CHECK(mistakes.find("the aliases of this file expand to more than 1000") != std::string::npos);
  // A string of 4 KB that 400 aliases use: 1.6 MB of text from a file of 18 KB.
  std::string text = "schema: 1\nname: &x " + std::string(4000, 'A') + "\nprograms:\n  do:\n";
  for (int i = 0; i < 400; ++i) text += "    - {compute: *x, takes: 1us}\n";
  CHECK(mistakes_in(text).find("bytes of text") != std::string::npos);
}

TEST_CASE("an expression of a megabyte is refused", "[formats][scenario_reader]") {
  std::string sum = "1";
  while (sum.size() < 1'000'000) sum += "+rank";
  CHECK(mistakes_in("schema: 1\nactors: {a: {source: " + sum + "}}\n") ==
        "2:22: an expression can have at most 10000 characters\n");
}

TEST_CASE("mistakes in names that are declared and in tensors are reported",
          "[formats][scenario_reader]") {
  CHECK(
      testing::mistakes_in("schema: 1\nphases: forward\nevents: [x, {key: a, on: 3}, {evnt: b}]\n"
                           "actors:\n"
                           "  a: {source: 1, carries: x, registers: {out: {carries: [x]}}}\n"
                           "  b: {reads: [{from: a, needs: [x, x]}, {from: a, register: c}]}\n") ==
      "2:9: 'phases' must be a list, found 'forward'\n"
      "3:10: an event must be a map, found 'x'\n"
      "3:22: unknown key 'on' in an event\n"
      "  known here: event, key\n"
      "3:30: an event needs the key 'event'\n"
      "3:31: unknown key 'evnt' in an event\n"
      "  did you mean 'event'?\n"
      "5:27: tensors must be a list of names, found 'x'\n"
      "5:42: 'out' is reserved for the output of an actor\n"
      "  its credits, size and tensors are set by the actor's own keys 'slots', 'bytes' and "
      "'carries'\n"
      "6:36: duplicate tensor 'x'\n"
      "6:41: 'a' has no register 'c'\n  known here: out\n");
}

TEST_CASE("what an actor reads may stand before or behind it", "[formats][scenario_reader]") {
  constexpr int kActors = 3000;
  const auto is_forward = [](int i) { return i % 7 == 0 || (i > 1000 && i < 1400); };
  std::string text = "{\"schema\": 1, \"actors\": {\n";
  for (int i = 0; i < kActors; ++i) {
    const int from = is_forward(i) ? i + 1 : i - 1;
    const bool reads = from >= 0 && from < kActors;
    text += "\"a" + std::to_string(i) + "\": {" +
            (reads ? "\"reads\": [\"a" + std::to_string(from) + "\"]" : "\"source\": 1") +
            (i + 1 < kActors ? "},\n" : "}\n");
  }
  models::Diagnostics diagnostics;
  const auto scenario = formats::read_scenario(text + "}}", {}, diagnostics);
  REQUIRE(scenario);
  const auto& actors = scenario->graph.actors;
  REQUIRE(actors.size() == kActors);
  for (int i = 1; i + 1 < kActors; ++i) {
    const auto& reads = actors[static_cast<std::size_t>(i)].reads;
    REQUIRE(reads.size() == 1);
    CHECK(reads[0].actor == static_cast<std::uint32_t>(is_forward(i) ? i + 1 : i - 1));
    CHECK(reads[0].place.line == static_cast<std::uint32_t>(i) + 2);
  }
}

TEST_CASE("a name with a dot is an actor, wherever that stands", "[formats][scenario_reader]") {
  models::Diagnostics diagnostics;
  const auto scenario = formats::read_scenario(
      "schema: 1\nactors:\n  a: {source: 1, registers: {b: {}}}\n"
      "  c: {reads: [a.b, a]}\n  a.b: {source: 1}\n",
      {}, diagnostics);
  REQUIRE(scenario);
  const auto& reads = scenario->graph.actors[1].reads;
  REQUIRE(reads.size() == 2);
  CHECK(reads[0].actor == 2);
  CHECK(reads[1].actor == 0);
}
