#include "models/lowering/rank_classes.hpp"

#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"

using namespace pipesim;
using models::RankSet;

namespace {

// Returns the classes of identical ranks in a scenario of four ranks.
std::vector<RankSet> classes_of(const std::string& text) {
  return models::rank_classes(testing::lowered_of("schema: 1\nranks: 4\n" + text),
                              RankSet::range(0, 4));
}

std::vector<std::uint32_t> positions_of(const std::string& text) {
  return models::rank_positions(testing::lowered_of("schema: 1\nranks: 4\n" + text));
}

const std::vector<RankSet> kAlike = {RankSet::range(0, 4)};
const std::vector<RankSet> kHalves = {RankSet::range(0, 2), RankSet::range(2, 4)};

}  // namespace

TEST_CASE("ranks differ by their actors, numbers of ops and slots", "[models][rank_classes]") {
  CHECK(classes_of("actors: {a: {source: 1, takes: 1us * rank}}\n") == kAlike);
  CHECK(classes_of("actors: {a: {source: 1}, b: {source: 1, on: rank < 2}}\n") == kHalves);
  CHECK(classes_of("actors: {a: {source: 'if(rank < 2, 1, 2)'}}\n") == kHalves);
  CHECK(classes_of("actors: {a: {source: 1, slots: 'if(rank < 2, 1, 2)'}, b: {reads: [a]}}\n") ==
        kHalves);
}

TEST_CASE("ranks differ by their programs, not by whom they talk to", "[models][rank_classes]") {
  const std::string messages =
      "groups: {g: all}\nprograms:\n  do:\n"
      "    - {send: g, to: (rank + 1) % 4, bytes: 1B}\n"
      "    - {recv: g, from: (rank + 3) % 4, bytes: 1B}\n";
  CHECK(classes_of(messages) == kAlike);
  const std::string swapped =
      "threads: {main: {program: [{on: 0..1, do: [a, b]}, {on: 2..3, do: [b, a]}]}}\n"
      "actors: {a: {source: 1, thread: main}, b: {source: 1, thread: main}}\n";
  CHECK(classes_of(swapped) == kHalves);
}

TEST_CASE("a rank stands behind those whose data reach it", "[models][rank_classes]") {
  using Positions = std::vector<std::uint32_t>;
  CHECK(positions_of(
            "actors: {a: {source: 1}, b: {reads: [{from: a, rank: rank - 1}], on: 2..3}}\n") ==
        Positions{0, 0, 1, 2});
  // Sends in reverse, such as sends of gradients, come later.
  const std::string there_and_back =
      "groups: {g: all}\nprograms:\n  do:\n"
      "    - {recv: g, from: rank - 1, bytes: 1B, on: rank > 0}\n"
      "    - {send: g, to: rank + 1, bytes: 1B, on: rank < 3}\n"
      "    - {recv: g, from: rank + 1, bytes: 1B, on: rank < 3}\n"
      "    - {send: g, to: rank - 1, bytes: 1B, on: rank > 0}\n";
  CHECK(positions_of(there_and_back) == Positions{0, 1, 2, 3});
  // The order of the first sends decides, not the order of all sends.
  CHECK(positions_of(there_and_back +
                     "    - {send: g, to: rank + 1, bytes: 1B, on: rank < 3}\n"
                     "    - {recv: g, from: rank - 1, bytes: 1B, on: rank > 0}\n") ==
        Positions{0, 1, 2, 3});
  const std::string ring =
      "groups: {g: all}\nprograms:\n  do:\n"
      "    - {send: g, to: (rank + 1) % 4, bytes: 1B}\n"
      "    - {recv: g, from: (rank + 3) % 4, bytes: 1B}\n";
  CHECK(positions_of(ring) == Positions{0, 0, 0, 0});
}
