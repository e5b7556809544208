// The pending timers of a run, separate from its events: timeouts, and deaths at a given time
// (docs/reference/rules.md, 10.5).
//
// Timers are ordered by (time, kind, target), regardless of the order in which they were set. A
// timer whose reason is gone stays in the queue and is ignored when it fires, so timers are never
// removed.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "sim/time.hpp"

namespace pipesim::sim {

/// The kind of a timer; also the order of timers with the same time.
enum class TimerKind : std::uint32_t {
  kDeath,      // target: index in Plan::deaths
  kLinkError,  // target: the stream
  kWatchdog,   // target: the stream
  kThread,     // target: the thread
  kLauncher,   // target: the rank that died
};

struct Timer {
  Time time;
  TimerKind kind = TimerKind::kDeath;
  std::uint32_t target = 0;

  friend constexpr auto operator<=>(const Timer&, const Timer&) = default;
};

class TimerQueue {
 public:
  bool empty() const { return timers_.empty(); }
  Time next_time() const { return timers_.empty() ? kEndOfTime : timers_.top().time; }
  void push(const Timer& timer) { timers_.push(timer); }

  Timer pop() {
    const Timer next = timers_.top();
    timers_.pop();
    return next;
  }

 private:
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
};

}  // namespace pipesim::sim
