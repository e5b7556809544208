// The pending events of a LogGOPS run, ordered by (time, turn). In sim/event_queue.hpp, events of
// one instant are ordered by the order of push() instead; here a turn outlives its events.
#pragma once

#include <cstdint>

#include "sim/ring.hpp"
#include "sim/time.hpp"

#include "features/goal/heap.hpp"

namespace pipesim::sim {

/// An event; the caller defines `target`.
struct TurnEvent {
  Time time;
  std::uint32_t turn = 0;
  std::uint32_t target = 0;

  bool before(const TurnEvent& other) const {
    return time != other.time ? time < other.time : turn < other.turn;
  }
};

/// The pending events. Events of the present instant need no heap as long as their turns increase,
/// which is the common case.
class TurnQueue {
 public:
  bool empty() const { return present_.empty() && future_.empty(); }
  Time next_time() const { return present_.empty() ? future_.top().time : now_; }

  void push(const TurnEvent& event) {
    const bool last = present_.empty() || present_.back().turn < event.turn;
    if (event.time == now_ && last) {
      present_.push(event);
    } else {
      future_.push(event);
    }
  }

  TurnEvent pop() {
    const bool future = present_.empty() || (!future_.empty() && future_.top().time == now_ &&
                                             future_.top().turn < present_.front().turn);
    if (!future) return present_.pop();
    now_ = future_.top().time;
    return future_.pop();
  }

 private:
  Time now_{0};  // time of the last event taken
  Ring<TurnEvent> present_;
  Heap<TurnEvent> future_;
};

}  // namespace pipesim::sim
