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

TEST_CASE("the order in which acts are added does not show in a fingerprint",
          "[sim][fingerprint]") {
  Fingerprint forward;
  Fingerprint backward;
  for (std::uint32_t k = 0; k < 5; ++k) {
    forward.add(ActorId{k}, k, Time{k}, Time{k + 1}, kNever);
    backward.add(ActorId{4 - k}, 4 - k, Time{4 - k}, Time{5 - k}, kNever);
  }
  CHECK(forward.value(Verdict::kDeadlock) == backward.value(Verdict::kDeadlock));
  CHECK(forward.value(Verdict::kDeadlock) != forward.value(Verdict::kStarved));
}

TEST_CASE("every part of an act shows in a fingerprint", "[sim][fingerprint]") {
  const auto value = [](std::uint32_t actor, std::uint32_t k, int launch, int start, int end) {
    Fingerprint fingerprint;
    fingerprint.add(ActorId{actor}, k, Time{launch}, Time{start}, Time{end});
    return fingerprint.value(Verdict::kCompleted);
  };
  const std::uint64_t base = value(1, 2, 3, 4, 5);
  CHECK(base != value(2, 2, 3, 4, 5));
  CHECK(base != value(1, 3, 3, 4, 5));
  CHECK(base != value(1, 2, 4, 4, 5));
  CHECK(base != value(1, 2, 3, 5, 5));
  CHECK(base != value(1, 2, 3, 4, 6));
  CHECK(value(1, 2, 3, 4, 5) == base);
}
