// Where the ticks of an axis stand.
#pragma once

#include <initializer_list>

namespace pipesim::viz {

/// A round step that gives about `count` ticks: 1, 2 or 5 times a power of ten, at least 1.
inline double round_step(double range, int count) {
  const double rough = range / count;
  double power = 1;
  while (power * 10 <= rough) power *= 10;
  for (const double times : {1.0, 2.0, 5.0}) {
    if (power * times >= rough) return power * times;
  }
  return power * 10;
}

}  // namespace pipesim::viz
