// The pending events of a run, in the order (time, priority, sequence).
//
// Events of the future lie in a heap of plain 24-byte records. Events of the present instant, the
// most frequent case, need no heap: they join one queue per priority, in which the order of arrival
// is the order of the sequence numbers. An event of the heap was made before any present event with
// its time and priority, and so goes first. What of the heap is due is taken off at once: so the
// next events are known before their turn, and what they need can be fetched.
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

  bool empty() const { return heap_.empty() && none_now(); }

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
  Time next_time() const { return none_now() ? std::max(now_, heap_.top().time) : now_; }

  /// Takes the next event and moves now() to its time.
  Event pop() {
    PIPESIM_DCHECK(!empty());
    if (due_.empty() && !heap_.empty() && (none_now() || heap_.top().time <= now_)) take_due();
    if (!due_.empty()) {
      const bool first = due_.front().order >> 56 == 0 || present_[0].empty();
      if (first) return due_.pop().event;
    }
    return present_[0].empty() ? present_[1].pop() : present_[0].pop();
  }

  /// The event that is likely to be number `i` from the front, if there is one now.
  const Event* ahead(std::uint32_t i) const { return i < due_.size() ? &due_[i].event : nullptr; }

  // For runs in an order of the caller's. What has been overtaken comes late, at now().

  bool contains(Event event) const { return find(event) != nullptr || is_now(event); }

  /// When `event`, which is pending, happens at the earliest.
  Time time_of(Event event) const {
    const Pending* pending = find(event);
    return pending == nullptr ? now_ : std::max(now_, pending->time);
  }

  /// Takes `event`, which is pending, and moves now() to its time. Cost: O(pending events).
  void take(Event event) {
    const Pending* pending = find(event);
    if (pending == nullptr) {
      for (std::uint32_t left = due_.size(); left > 0; --left) {
        const Pending other = due_.pop();
        if (other.event != event) due_.push(other);
      }
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
    while (!due_.empty()) events.push_back(due_.pop().event);
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

  bool none_now() const { return due_.empty() && present_[0].empty() && present_[1].empty(); }

  bool is_now(Event event) const {
    for (std::uint32_t i = 0; i < due_.size(); ++i) {
      if (due_[i].event == event) return true;
    }
    for (const Ring<Event>& ring : present_) {
      for (std::uint32_t i = 0; i < ring.size(); ++i) {
        if (ring[i] == event) return true;
      }
    }
    return false;
  }

  // Moves now() to the time of the heap's first event, and all events of the heap that are due then
  // behind each other.
  void take_due() {
    now_ = std::max(now_, heap_.top().time);
    do due_.push(heap_.pop());
    while (!heap_.empty() && heap_.top().time <= now_);
  }

  Time now_{0};
  std::uint64_t sequence_ = 0;
  Heap<Pending> heap_;
  Ring<Pending> due_;       // not after now(), in their order
  Ring<Event> present_[2];  // by priority
};

}  // namespace pipesim::sim
