// The first difference between the calls of ranks, and differences that are intended.
#include "features/record/first_difference.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/record.hpp"

using namespace pipesim;
using testing::record_of;

namespace {

// Definitions of places a, b, c and d in a script; each place is called from a line of main.
const std::string kPlaces = R"({"def": "m", "at": "train.py:90"}
{"def": "m2", "at": "train.py:91"}
{"def": "a", "at": "train.py:1", "in": "step", "up": "m"}
{"def": "b", "at": "train.py:2", "in": "step", "up": "m"}
{"def": "c", "at": "train.py:3", "in": "step", "up": "m"}
{"def": "d", "at": "train.py:4", "in": "save", "up": "m"}
{"def": "a2", "at": "train.py:1", "in": "step", "up": "m2"}
)";

// Returns one all_reduce per word, with sequence numbers from 1: "a" is 4 bytes from place a, "a8"
// is 8 bytes from place a.
std::string calls(const std::vector<std::string>& words) {
  std::string text = kPlaces;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool large = words[i].ends_with('8');
    const std::string place = large ? words[i].substr(0, words[i].size() - 1) : words[i];
    text += R"({"call": "all_reduce", "g": "g0", "n": )" + std::to_string(i + 1) +
            R"(, "bytes": )" + (large ? "8" : "4") + R"(, "sync": true, "l": ")" + place + "\"}\n";
  }
  return text;
}

const std::string kFinished = "{\"end\": \"finished\"}\n";
const std::string kQuiescent = "{\"end\": \"cut\", \"why\": \"rest\"}\n";

// Returns the call number of the first difference, its sides, and the number of the mismatch, as
// "1 [0 train.py:1 step | 1 train.py:2 step] 2"; or "none".
std::string found(const std::vector<std::string>& ranks) {
  const auto difference = models::first_difference(record_of("gloo", ranks));
  if (!difference) return "none";
  std::string text = std::to_string(difference->number) + " [";
  for (const models::CallOfRanks& side : difference->sides) {
    text += &side == &difference->sides.front() ? "" : " | ";
    for (const std::uint32_t rank : side.ranks) text += std::to_string(rank) + " ";
    text += side.call.empty() ? "none" : side.at;
    for (const std::string& line : side.lines) text += " < " + line;
  }
  return text + "] " + std::to_string(difference->mismatch);
}

}  // namespace

TEST_CASE("ranks that call alike have no first difference", "[models][first_difference]") {
  CHECK(found({calls({"a", "b"}) + kFinished, calls({"a", "b"}) + kFinished}) == "none");
}

TEST_CASE("the first difference is where the lines part before a mismatch",
          "[models][first_difference]") {
  // Rank 0 skips b in the second iteration: rank 0's c and rank 1's b are the first difference.
  CHECK(found({calls({"a", "b", "c8", "a", "c8"}) + kQuiescent,
               calls({"a", "b", "c8", "a", "b", "c8"}) + kQuiescent}) ==
        "5 [0 train.py:3 step | 1 train.py:2 step] 5");
  CHECK(found({calls({"a", "b", "c", "a", "c", "d8"}) + kQuiescent,
               calls({"a", "b", "c", "a", "b", "c"}) + kQuiescent}) ==
        "5 [0 train.py:3 step | 1 train.py:2 step] 6");
  // Ranks that differed earlier but agreed again are not the cause.
  CHECK(found({calls({"b", "c", "a", "a8"}) + kQuiescent,
               calls({"c", "b", "a", "a"}) + kQuiescent}) ==
        "4 [0 train.py:1 step | 1 train.py:1 step] 4");
}

TEST_CASE("a call that a rank leaves out at its end is missing", "[models][first_difference]") {
  CHECK(found({calls({"a", "a"}) + kQuiescent, calls({"a"}) + kFinished}) ==
        "2 [0 train.py:1 step | 1 none] 2");
  // The next call of a rank that waits elsewhere, or whose record was cut, is unknown.
  CHECK(found({calls({"a", "a"}) + kQuiescent, calls({"a"}) + kQuiescent}) == "none");
  CHECK(found({calls({"a", "a"}) + kQuiescent,
               calls({"a"}) + "{\"end\": \"cut\", \"why\": \"steps\"}\n"}) == "none");
}

TEST_CASE("lines that always meet are meant to", "[models][first_difference]") {
  // Rank 1 has its own program, in which b always matches a of rank 0.
  CHECK(found({calls({"a", "a", "a", "d8"}) + kQuiescent,
               calls({"b", "b", "b", "c"}) + kQuiescent}) ==
        "4 [0 train.py:4 save | 1 train.py:3 step] 4");
  // A single pair is not yet a pattern.
  CHECK(found({calls({"a", "d8"}) + kQuiescent, calls({"b", "c"}) + kQuiescent}) ==
        "1 [0 train.py:1 step | 1 train.py:2 step] 2");
}

TEST_CASE("stacks of one line differ in who called it", "[models][first_difference]") {
  CHECK(found({calls({"a", "a8"}) + kQuiescent, calls({"a", "a2"}) + kQuiescent}) ==
        "2 [0 train.py:1 step < train.py:90 | 1 train.py:1 step < train.py:91] 2");
}
