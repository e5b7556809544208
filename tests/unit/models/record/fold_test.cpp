// Loops that are found say the same as the steps did, and are those that people would write.
#include "models/record/fold.hpp"

#include <string>

#include "sim/splitmix.hpp"
#include "tests/support/catch.hpp"

using namespace pipesim;
using models::FoldedStep;

namespace {

// "a (b c)x3" of letters.
std::string shown(const std::vector<FoldedStep>& folded) {
  std::string text;
  for (const FoldedStep& item : folded) {
    if (!text.empty()) text += ' ';
    text += item.block.empty() ? std::string(1, static_cast<char>('a' + item.step))
                               : "(" + shown(item.block) + ")x" + std::to_string(item.times);
  }
  return text;
}

std::string folded(const std::string& letters) {
  std::vector<std::uint32_t> steps;
  for (const char c : letters) steps.push_back(static_cast<std::uint32_t>(c - 'a'));
  return shown(models::fold_loops(steps));
}

void unfold(const std::vector<FoldedStep>& folded, std::vector<std::uint32_t>& steps) {
  for (const FoldedStep& item : folded) {
    if (item.block.empty()) {
      steps.push_back(item.step);
      continue;
    }
    for (std::uint64_t i = 0; i < item.times; ++i) unfold(item.block, steps);
  }
}

}  // namespace

TEST_CASE("repeated steps are loops, the longest first", "[models][fold]") {
  CHECK(folded("").empty());
  CHECK(folded("abc") == "a b c");
  CHECK(folded("aaaa") == "(a)x4");
  CHECK(folded("abababc") == "(a b)x3 c");
  CHECK(folded("xaaabaaab") == "x ((a)x3 b)x2");
  CHECK(folded("xaabaabaabyy") == "x (a a b)x3 y y");
}

TEST_CASE("a little loop does not take the beginning of a large one", "[models][fold]") {
  CHECK(folded("aabcabcabcabc") == "a (a b c)x4");
}

TEST_CASE("loops unfold to the steps that they were made of", "[models][fold]") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    std::vector<std::uint32_t> steps;
    const std::uint64_t kinds = 1 + sim::splitmix(seed) % 3;
    for (std::uint64_t i = 0; i < 60; ++i) {
      steps.push_back(static_cast<std::uint32_t>(sim::splitmix(seed * 64 + i) % kinds));
    }
    std::vector<std::uint32_t> unfolded;
    unfold(models::fold_loops(steps), unfolded);
    CHECK(unfolded == steps);
  }
}
