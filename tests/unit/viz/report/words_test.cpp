#include "viz/report/words.hpp"

#include <cstdint>
#include <vector>

#include "tests/support/catch.hpp"

namespace {

using pipesim::viz::ranks_text;
using pipesim::viz::short_ranges;

// Returns `times` runs of `run` adjacent ranks. The first run starts at rank `first`, each other
// run `step` ranks after the start of the previous run.
std::vector<std::uint32_t> rows(std::uint32_t first, std::uint32_t run, std::uint32_t step,
                                std::uint32_t times) {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t i = 0; i < times; ++i) {
    for (std::uint32_t j = 0; j < run; ++j) ranks.push_back(first + i * step + j);
  }
  return ranks;
}

}  // namespace

TEST_CASE("a few ranges of ranks are all named", "[viz][words]") {
  CHECK(short_ranges({}).empty());
  CHECK(short_ranges({5}) == "5");
  CHECK(short_ranges({0, 1, 2, 5, 9, 10}) == "0-2, 5, 9-10");
}

TEST_CASE("regular ranks are shown by their stride in a narrow column", "[viz][words]") {
  CHECK(short_ranges(rows(0, 1, 8, 1024)) == "0-8184 by 8");
  CHECK(short_ranges(rows(3, 1, 2, 4)) == "3-9 by 2");
  CHECK(short_ranges(rows(3, 1, 2, 3)) == "3, 5, 7");
  CHECK(short_ranges(rows(8, 8, 64, 16)) == "8-15, 72-79, ... 968-975 (128 ranks)");
  std::vector<std::uint32_t> one_less = rows(0, 1, 8, 1024);
  one_less.erase(one_less.begin() + 500);
  CHECK(short_ranges(one_less) == "0, 8, ... 8184 (1023 ranks)");
}

TEST_CASE("a long list of ranks in a sentence is a short one, with its rule", "[viz][words]") {
  CHECK(ranks_text({}) == "no ranks");
  CHECK(ranks_text({4}) == "rank 4");
  CHECK(ranks_text({0, 8, 16, 24}) == "ranks 0, 8, 16 and 24");
  CHECK(ranks_text(rows(0, 1, 8, 64)) == "ranks 0, 8, ... 504 (every 8th, 64 ranks)");
  CHECK(ranks_text(rows(8, 8, 64, 16)) ==
        "ranks 8-15, 72-79, ... 968-975 (8 of every 64, 128 ranks)");
  std::vector<std::uint32_t> shorter = rows(8, 8, 64, 16);
  shorter.pop_back();
  CHECK(ranks_text(shorter) == "ranks 8-15, 72-79, ... 968-974 (127 ranks)");
}
