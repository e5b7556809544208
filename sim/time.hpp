// Simulated time in whole nanoseconds, as points and as differences.
//
// Points and differences have different types, so that adding two points in time does not compile.
// The folder sim/ uses no floating point: whether two events are simultaneous must not depend on
// rounding.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace pipesim::sim {

/// A difference between two points of simulated time, in nanoseconds.
struct Duration {
  std::int64_t ns = 0;

  friend constexpr auto operator<=>(Duration, Duration) = default;
};

/// A point of simulated time, in nanoseconds since the run began.
struct Time {
  std::int64_t ns = 0;

  friend constexpr auto operator<=>(Time, Time) = default;
};

/// The time of an event that has not happened.
inline constexpr Time kNever{-1};

/// The end of simulated time: 292 years. A run that reaches it stops with the verdict "limit".
inline constexpr Time kEndOfTime{std::numeric_limits<std::int64_t>::max()};

/// Returns `start + delay`, or kEndOfTime on overflow. `delay` is not negative.
constexpr Time later(Time start, Duration delay) {
  return delay.ns > kEndOfTime.ns - start.ns ? kEndOfTime : Time{start.ns + delay.ns};
}

constexpr Duration operator-(Time end, Time start) { return {end.ns - start.ns}; }

}  // namespace pipesim::sim
