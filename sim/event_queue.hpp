// The pending events of a run, in the order (time, priority, sequence).
//
// Events of the future lie in a heap of plain 24-byte records. Events of the present instant, the
// most frequent case, need no heap: they join one queue per priority, in which the order of arrival
// is the order of the sequence numbers. An event of the heap was made before any present event with
// its time and priority, and so goes first.
// Tested against a sorted list by tests/unit/sim/event_queue_test.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/assert.hpp"
#include "sim/event.hpp"
#include "sim/heap.hpp"
#include "sim/ring.hpp"
#include "sim/time.hpp"

namespace pipesim::sim {

/// Smaller goes first among the events of an instant.
enum class Priority : std::uint32_t {
  kDevice = 0,  // what devices finish is known before any host thread looks
  kHost = 1,
};

class EventQueue {
 public:
  /// The time of the last event that was taken.
  Time now() const { return now_; }

  bool empty() const { return heap_.empty() && present_[0].empty() && present_[1].empty(); }

  /// Adds an event at `time`, which is not before now().
  void push(Time time, Priority priority, Event event) {
    PIPESIM_DCHECK(time >= now_, {"time", time.ns}, {"now", now_.ns});
    if (time == now_) {
      present_[static_cast<std::size_t>(priority)].push(event);
      return;
    }
    const std::uint64_t order = (static_cast<std::uint64_t>(priority) << 56) | sequence_++;
    heap_.push({time, order, event});
  }

  /// The time of the next event. Only where the queue is not empty.
  Time next_time() const {
    const bool none_present = present_[0].empty() && present_[1].empty();
    return none_present ? std::max(now_, heap_.top().time) : now_;
  }

  /// Takes the next event and moves now() to its time.
  Event pop() {
    PIPESIM_DCHECK(!empty());
    if (!heap_.empty()) {
      const Pending& top = heap_.top();
      const bool none_present = present_[0].empty() && present_[1].empty();
      const bool first_now = top.time <= now_ && (top.order >> 56 == 0 || present_[0].empty());
      if (none_present || first_now) return pop_heap();
    }
    return present_[0].empty() ? present_[1].pop() : present_[0].pop();
  }

  // For runs in an order of the caller's. What has been overtaken comes late, at now().

  bool contains(Event event) const { return find(event) != nullptr || is_present(event); }

  /// When `event`, which is pending, happens at the earliest.
  Time time_of(Event event) const {
    const Pending* pending = find(event);
    return pending == nullptr ? now_ : std::max(now_, pending->time);
  }

  /// Takes `event`, which is pending, and moves now() to its time. Cost: O(pending events).
  void take(Event event) {
    const Pending* pending = find(event);
    if (pending == nullptr) {
      for (Ring<Event>& ring : present_) {
        for (std::uint32_t left = ring.size(); left > 0; --left) {
          const Event other = ring.pop();
          if (other != event) ring.push(other);
        }
      }
      return;
    }
    now_ = std::max(now_, pending->time);
    for (const Pending& other : heap_.release()) {
      if (other.event != event) heap_.push(other);
    }
  }

  /// Takes all events, in no order that means something, and lets now() be.
  void drain(std::vector<Event>& events) {
    for (const Pending& pending : heap_.items()) events.push_back(pending.event);
    heap_.clear();
    for (Ring<Event>& ring : present_) {
      while (!ring.empty()) events.push_back(ring.pop());
    }
  }

 private:
  struct Pending {
    Time time;
    std::uint64_t order;  // priority in the top byte, then the sequence number
    Event event;

    bool before(const Pending& other) const {
      return time != other.time ? time < other.time : order < other.order;
    }
  };
  static_assert(sizeof(Pending) == 24);

  const Pending* find(Event event) const {
    const std::vector<Pending>& items = heap_.items();
    const auto at = std::find_if(items.begin(), items.end(),
                                 [&](const Pending& pending) { return pending.event == event; });
    return at == items.end() ? nullptr : &*at;
  }

  bool is_present(Event event) const {
    for (const Ring<Event>& ring : present_) {
      for (std::uint32_t i = 0; i < ring.size(); ++i) {
        if (ring[i] == event) return true;
      }
    }
    return false;
  }

  Event pop_heap() {
    const Pending next = heap_.pop();
    now_ = std::max(now_, next.time);
    return next.event;
  }

  Time now_{0};
  std::uint64_t sequence_ = 0;
  Heap<Pending> heap_;
  Ring<Event> present_[2];  // by priority
};

}  // namespace pipesim::sim
