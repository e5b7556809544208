// Random numbers for the plans on which the twin and the engine are compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/twin/spec.hpp"

namespace pipesim::twin {

/// splitmix64 (Steele, Lea, Flood 2014): unlike the distributions of <random>, identical on every
/// platform. The arguments of a call are evaluated in no fixed order, so only one of them may draw.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  /// Returns a number from 0 to count - 1.
  int below(int count) {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    z = z ^ (z >> 31);
    return static_cast<int>(z % static_cast<std::uint64_t>(count));
  }

  int between(int least, int most) { return least + below(most - least + 1); }

  bool chance(int percent) { return below(100) < percent; }

  template <typename T>
  T pick(const std::vector<T>& items) {
    return at(items, below(count_of(items)));
  }

  template <typename T>
  void shuffle(std::vector<T>& items) {
    for (int i = count_of(items) - 1; i > 0; --i) {
      std::swap(items[static_cast<std::size_t>(i)], items[static_cast<std::size_t>(below(i + 1))]);
    }
  }

 private:
  std::uint64_t state_;
};

}  // namespace pipesim::twin
