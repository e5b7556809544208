#include "app/workers.hpp"

#include <atomic>
#include <cstddef>
#include <stdexcept>
#include <vector>

#include "tests/support/catch.hpp"

using pipesim::app::Workers;

TEST_CASE("every piece of work is done once", "[app][workers]") {
  for (const unsigned jobs : {0u, 1u, 3u, 64u}) {
    std::vector<int> done(50, 0);
    Workers workers(done.size(), jobs, [&](std::size_t i) { ++done[i]; });
    workers.wait_for(done.size());
    CHECK(done == std::vector<int>(50, 1));
  }
  Workers(0, 2, [](std::size_t) { FAIL("there is no work"); }).wait_for(0);
}

TEST_CASE("who waits for work hears of what went wrong", "[app][workers]") {
  Workers workers(4, 2, [](std::size_t i) {
    if (i == 2) throw std::runtime_error("two");
  });
  CHECK_THROWS_WITH(workers.wait_for(4), "two");
}

TEST_CASE("what was not begun when it is over is not done", "[app][workers]") {
  std::atomic<std::size_t> begun{0};
  {
    Workers workers(1'000'000, 1, [&](std::size_t) { ++begun; });
    workers.wait_for(1);
  }
  CHECK(begun >= 1);
  CHECK(begun < 1'000'000);
}
