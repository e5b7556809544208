#include "sim/event_queue.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/sanitized.hpp"

using namespace pipesim::sim;

namespace {

// The event queue as a sorted list: slow, but obviously right.
class ListQueue {
 public:
  void push(Time time, Priority priority, std::uint32_t target) {
    items_.emplace_back(time.ns, static_cast<int>(priority), sequence_++, target);
    std::sort(items_.begin(), items_.end());
  }
  bool empty() const { return items_.empty(); }
  std::int64_t next_time() const { return std::get<0>(items_.front()); }
  std::uint32_t pop() {
    const std::uint32_t target = std::get<3>(items_.front());
    items_.erase(items_.begin());
    return target;
  }

 private:
  std::vector<std::tuple<std::int64_t, int, int, std::uint32_t>> items_;
  int sequence_ = 0;
};

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  // Returns numbers of all magnitudes, from small to large, equally often.
  std::int64_t any_size() { return (std::int64_t{1} << below(40)) + below(100); }
  std::uint32_t below(std::uint32_t limit) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(state_ >> 33) % limit;
  }

 private:
  std::uint64_t state_;
};

}  // namespace

TEST_CASE("events come in the order of time, priority and arrival", "[sim][event_queue]") {
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    EventQueue queue;
    ListQueue list;
    // The few different delays make many times equal; delay 0 is the current time.
    const std::uint32_t delays = 1 + random.below(6);
    std::uint32_t target = 0;
    for (int step = 0; step < 300; ++step) {
      REQUIRE(queue.empty() == list.empty());
      if (queue.empty() || random.below(5) < 3) {
        const Time time{queue.now().ns + random.below(delays)};
        const Priority priority = random.below(2) == 0 ? Priority::kDevice : Priority::kHost;
        queue.push(time, priority, {EventKind::kThreadWakes, target});
        list.push(time, priority, target++);
      } else {
        REQUIRE(queue.next_time().ns == list.next_time());
        const std::int64_t expected_time = list.next_time();
        REQUIRE(queue.pop().target == list.pop());
        REQUIRE(queue.now().ns == expected_time);
      }
    }
    while (!queue.empty()) REQUIRE(queue.pop().target == list.pop());
    REQUIRE(list.empty());
  }
}

TEST_CASE("events of near and far times come in their order", "[sim][event_queue]") {
  Random random(2);
  EventQueue queue;
  ListQueue list;
  const std::uint32_t events = pipesim::testing::kSanitized ? 1000 : 3000;
  for (std::uint32_t target = 0; target < events; ++target) {
    const Time time{queue.now().ns + random.any_size()};
    const Priority priority = random.below(2) == 0 ? Priority::kDevice : Priority::kHost;
    queue.push(time, priority, {EventKind::kThreadWakes, target});
    list.push(time, priority, target);
    if (random.below(3) != 0) continue;
    REQUIRE(queue.next_time().ns == list.next_time());
    REQUIRE(queue.pop().target == list.pop());
  }
  while (!list.empty()) {
    REQUIRE(queue.next_time().ns == list.next_time());
    REQUIRE(queue.pop().target == list.pop());
  }
  CHECK(queue.empty());
}

TEST_CASE("what never happens stays at the end of time", "[sim][event_queue]") {
  EventQueue queue;
  queue.push(kEndOfTime, Priority::kHost, {EventKind::kThreadWakes, 1});
  CHECK(queue.contains({EventKind::kThreadWakes, 1}));
  queue.push(Time{7}, Priority::kHost, {EventKind::kThreadWakes, 2});
  CHECK(queue.pop().target == 2);
  REQUIRE(!queue.empty());
  CHECK(queue.next_time() == kEndOfTime);
}

TEST_CASE("what is overtaken comes late, in the order that it had", "[sim][event_queue]") {
  EventQueue queue;
  const auto event = [](std::uint32_t target) { return Event{EventKind::kThreadWakes, target}; };
  queue.push(Time{3}, Priority::kHost, event(1));
  queue.push(Time{4}, Priority::kDevice, event(2));
  queue.push(Time{9}, Priority::kDevice, event(3));
  queue.push(Time{5}, Priority::kDevice, event(4));
  CHECK(queue.time_of(event(4)).ns == 5);
  queue.take(event(4));
  CHECK(queue.now().ns == 5);
  CHECK(queue.time_of(event(1)).ns == 5);
  CHECK(queue.time_of(event(3)).ns == 9);
  queue.push(Time{5}, Priority::kDevice, event(5));
  std::vector<std::uint32_t> rest;
  while (!queue.empty()) rest.push_back(queue.pop().target);
  CHECK(rest == std::vector<std::uint32_t>{5, 1, 2, 3});
}

TEST_CASE("what devices finish at an instant goes before the host threads that were woken first",
          "[sim][event_queue]") {
  EventQueue queue;
  queue.push(Time{5}, Priority::kHost, {EventKind::kThreadWakes, 1});
  queue.push(Time{5}, Priority::kDevice, {EventKind::kOpEnds, 2});
  CHECK(queue.pop().target == 2);
  queue.push(Time{5}, Priority::kDevice, {EventKind::kOpEnds, 3});
  CHECK(queue.pop().target == 3);
  CHECK(queue.pop().target == 1);
}
