#include <cstdint>
#include <deque>

#include "sim/fingerprint.hpp"
#include "sim/ids.hpp"
#include "sim/ring.hpp"
#include "sim/time.hpp"
#include "tests/support/catch.hpp"

using namespace pipesim::sim;

TEST_CASE("time does not pass its end", "[sim][time]") {
  CHECK(later(Time{5}, Duration{7}) == Time{12});
  CHECK(later(Time{1}, Duration{kEndOfTime.ns}) == kEndOfTime);
  CHECK(later(Time{1}, Duration{kEndOfTime.ns - 1}) == kEndOfTime);
  CHECK(later(Time{1}, Duration{kEndOfTime.ns - 2}).ns == kEndOfTime.ns - 1);
}

TEST_CASE("a ring is a queue, also while it grows and turns", "[sim][ring]") {
  Ring<int> ring;
  std::deque<int> deque;
  int next = 0;
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < round % 7 + 3; ++i) {
      ring.push(next);
      deque.push_back(next++);
    }
    for (int i = 0; i < round % 5 + 1; ++i) {
      REQUIRE(ring.front() == deque.front());
      REQUIRE(ring.pop() == deque.front());
      deque.pop_front();
    }
    REQUIRE(ring.size() == deque.size());
    for (std::uint32_t i = 0; i < ring.size(); ++i) REQUIRE(ring[i] == deque[i]);
  }
}

TEST_CASE("the order in which ops and ranks are added does not show in a fingerprint",
          "[sim][fingerprint]") {
  RankDigest forward;
  RankDigest backward;
  for (std::uint32_t k = 0; k < 5; ++k) {
    forward.add(k, k, Time{k}, Time{k + 1}, kNever);
    backward.add(4 - k, 4 - k, Time{4 - k}, Time{5 - k}, kNever);
  }
  CHECK(forward == backward);
  Fingerprint one;
  one.add(RankId{0}, forward);
  one.add(RankId{1}, RankDigest());
  Fingerprint other;
  other.add(RankId{1}, RankDigest());
  other.add(RankId{0}, forward);
  CHECK(one.value(Verdict::kDeadlock) == other.value(Verdict::kDeadlock));
  CHECK(one.value(Verdict::kDeadlock) != one.value(Verdict::kStarved));
}

TEST_CASE("every part of an op, and its rank, show in a fingerprint", "[sim][fingerprint]") {
  const auto value = [](std::uint32_t rank, std::uint32_t actor, std::uint32_t k, int launch,
                        int start, int end) {
    RankDigests digests(3);
    digests[RankId{rank}].add(actor, k, Time{launch}, Time{start}, Time{end});
    return Fingerprint::of(digests, Verdict::kCompleted);
  };
  const std::uint64_t base = value(0, 1, 2, 3, 4, 5);
  CHECK(base != value(1, 1, 2, 3, 4, 5));
  CHECK(base != value(0, 2, 2, 3, 4, 5));
  CHECK(base != value(0, 1, 3, 3, 4, 5));
  CHECK(base != value(0, 1, 2, 4, 4, 5));
  CHECK(base != value(0, 1, 2, 3, 5, 5));
  CHECK(base != value(0, 1, 2, 3, 4, 6));
  CHECK(value(0, 1, 2, 3, 4, 5) == base);
}
