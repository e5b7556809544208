// Tests the folding of steps into loops. The loops expand to the original steps, and are those that
// people would write.
#include "features/record/fold.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/splitmix.hpp"
#include "tests/support/catch.hpp"

using namespace pipesim;
using models::FoldedStep;

namespace {

// Returns the folded steps with a letter per step, as "a (b c)x3".
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

TEST_CASE("what comes before a large loop is folded, too", "[models][fold]") {
  CHECK(folded("aaaaabaaaaabcbaaaaabcbaaaaabcbaaaaabc") == "(a)x5 (b (a)x5 b c)x4");
}

// A job that logs every 10th step and evaluates every 50th. Written out, a step of 20 layers has 83
// lines; with loops, the whole job has only a few copies of a step.
TEST_CASE("a job that logs now and then is a few loops", "[models][fold]") {
  const auto lines = [](const std::vector<FoldedStep>& steps, const auto& self) -> std::size_t {
    std::size_t count = 0;
    for (const FoldedStep& step : steps) count += 1 + self(step.block, self);
    return count;
  };
  const auto lines_of_job = [&](int layers, int steps) {
    std::string letters;
    for (int step = 1; step <= steps; ++step) {
      for (int layer = 0; layer < layers; ++layer) letters += "ab";
      for (int layer = 0; layer < layers; ++layer) letters += "cd";
      letters += "opt";
      if (step % 10 == 0) letters += "log";
      if (step % 50 == 0) letters += "eee";
    }
    std::vector<std::uint32_t> numbers(letters.begin(), letters.end());
    const std::vector<FoldedStep> found = models::fold_loops(numbers);
    std::vector<std::uint32_t> unfolded;
    unfold(found, unfolded);
    CHECK(unfolded == numbers);
    return lines(found, lines);
  };
  // A step with loops has 9 lines. The copies are nine steps in a row, a step with its log, the
  // steps with an evaluation, and the rest before and after the loops.
  CHECK(lines_of_job(20, 200) < 9 * 12);
  // More layers or steps add no lines.
  CHECK(lines_of_job(200, 200) == lines_of_job(20, 200));
  CHECK(lines_of_job(20, 400) == lines_of_job(20, 200));
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
