// The pending events of a run, in the order (time, priority, arrival).
//
// A timer wheel holds future events. One queue per priority holds the events of the present
// instant, in order of arrival. When the present is over, all events of the next instant move to
// these queues at once, ahead of events that this instant creates. So the next events are known
// early, and their data can be prefetched.
// tests/unit/sim/event_queue_test.cpp compares this queue with a sorted list.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/assert.hpp"
#include "sim/event.hpp"
#include "sim/ring.hpp"
#include "sim/time.hpp"
#include "sim/time_wheel.hpp"

namespace pipesim::sim {

/// Order of the events of one instant: the smaller priority runs first.
enum class Priority : std::uint32_t {
  kDevice = 0,  // host threads see everything that devices have finished at this instant
  kHost = 1,
};

class EventQueue {
 public:
  /// Returns the time of the last event taken.
  Time now() const { return now_; }

  bool empty() const { return future_.empty() && none_now(); }

  /// Adds an event at `time`, which is not before now().
  void push(Time time, Priority priority, Event event) {
    PIPESIM_DCHECK(time >= now_, {"time", time.ns}, {"now", now_.ns});
    if (time == now_) {
      present_[static_cast<std::size_t>(priority)].push(event);
    } else {
      future_.push(key(time, priority), event);
    }
  }

  /// Returns the time of the next event. The queue must not be empty.
  Time next_time() const { return none_now() ? time(future_.first()) : now_; }

  /// Removes and returns the next event; moves now() to its time.
  Event pop() {
    PIPESIM_DCHECK(!empty());
    if (none_now()) take_due();
    if (!late_.empty() && (late_.front().priority == Priority::kDevice || present_[0].empty())) {
      return late_.pop().event;
    }
    return present_[0].empty() ? present_[1].pop() : present_[0].pop();
  }

  /// Returns the event that is likely `i`-th from the front, or nullptr.
  const Event* ahead(std::uint32_t i) const {
    return i < present_[0].size() ? &present_[0][i] : nullptr;
  }

  // The functions below serve runs in an order given by the caller. An event whose time has passed
  // before its turn happens at now().

  bool contains(Event event) const { return time_in_future(event) != kNever || is_now(event); }

  /// Returns the earliest time at which the pending `event` can happen.
  Time time_of(Event event) const { return std::max(now_, time_in_future(event)); }

  /// Removes the pending `event` and moves now() to its time. Cost: O(pending events).
  void take(Event event) {
    const Time time = time_in_future(event);
    if (time == kNever) {
      for (std::uint32_t left = late_.size(); left > 0; --left) {
        const Late other = late_.pop();
        if (other.event != event) late_.push(other);
      }
      for (Ring<Event>& ring : present_) {
        for (std::uint32_t left = ring.size(); left > 0; --left) {
          const Event other = ring.pop();
          if (other != event) ring.push(other);
        }
      }
      return;
    }
    now_ = time;
    while (!future_.empty() && EventQueue::time(future_.first()) <= now_) {
      const Priority priority = EventQueue::priority(future_.first());
      future_.take([&](Event other) {
        if (other != event) late_.push({other, priority});
      });
    }
  }

  /// Moves all events to `events`, in no particular order, and leaves now() unchanged.
  void drain(std::vector<Event>& events) {
    future_.for_each([&](std::uint64_t, Event event) { events.push_back(event); });
    future_.clear();
    while (!late_.empty()) events.push_back(late_.pop().event);
    for (Ring<Event>& ring : present_) {
      while (!ring.empty()) events.push_back(ring.pop());
    }
  }

 private:
  // An event whose time passed before its turn in the caller's order.
  struct Late {
    Event event;
    Priority priority = Priority::kDevice;
  };

  // Keys of future events: the time, then the priority. No event happens at the end of time, so one
  // key is enough for it.
  static std::uint64_t key(Time time, Priority priority) {
    return std::min(static_cast<std::uint64_t>(time.ns) << 1 | static_cast<std::uint64_t>(priority),
                    TimeWheel<Event>::kNone - 1);
  }
  static Time time(std::uint64_t key) { return Time{static_cast<std::int64_t>(key >> 1)}; }
  static Priority priority(std::uint64_t key) { return static_cast<Priority>(key & 1); }

  // Returns the time of a future event, or kNever if `event` is not a future event.
  Time time_in_future(Event event) const {
    Time found = kNever;
    future_.for_each([&](std::uint64_t key, Event other) {
      if (other == event) found = time(key);
    });
    return found;
  }

  bool none_now() const { return present_[0].empty() && present_[1].empty() && late_.empty(); }

  bool is_now(Event event) const {
    for (std::uint32_t i = 0; i < late_.size(); ++i) {
      if (late_[i].event == event) return true;
    }
    for (const Ring<Event>& ring : present_) {
      for (std::uint32_t i = 0; i < ring.size(); ++i) {
        if (ring[i] == event) return true;
      }
    }
    return false;
  }

  // Moves now() to the time of the first future event; all events of that time become present.
  void take_due() {
    now_ = time(future_.first());
    do {
      Ring<Event>& present = present_[future_.first() & 1];
      future_.take([&](Event event) { present.push(event); });
    } while (!future_.empty() && time(future_.first()) == now_);
  }

  Time now_{0};
  TimeWheel<Event> future_;
  Ring<Event> present_[2];  // by priority
  Ring<Late> late_;
};

}  // namespace pipesim::sim
