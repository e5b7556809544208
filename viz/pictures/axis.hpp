// Tick positions on an axis.
#pragma once

#include <cstdint>
#include <vector>

namespace pipesim::viz {

/// Returns a round step that gives about `count` ticks: 1, 2 or 5 times a power of ten, at least 1.
inline double round_step(double range, int count) {
  const double rough = range / count;
  double power = 1;
  while (power * 10 <= rough) power *= 10;
  for (const double times : {1.0, 2.0, 5.0}) {
    if (power * times >= rough) return power * times;
  }
  return power * 10;
}

/// Returns about `count` round times from 0 to `end_ns`, all in nanoseconds.
inline std::vector<std::int64_t> time_ticks(std::int64_t end_ns, int count) {
  std::vector<std::int64_t> ticks = {0};
  if (end_ns <= 0) return ticks;
  const auto step = static_cast<std::int64_t>(round_step(static_cast<double>(end_ns), count));
  while (ticks.back() <= end_ns - step) ticks.push_back(ticks.back() + step);
  return ticks;
}

}  // namespace pipesim::viz
