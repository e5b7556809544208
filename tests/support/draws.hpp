// Random draws for tests; the same seed gives the same draws.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>

namespace pipesim::testing {

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed) {}

  /// Returns a number from 0 to `limit` - 1.
  int below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random_); }

  /// Returns true with probability 1 / `of`.
  bool chance(int of) { return std::uniform_int_distribution<int>(1, of)(random_) == 1; }

  /// Returns one element of `from`.
  template <typename T>
  T pick(std::initializer_list<T> from) {
    return from.begin()[below(static_cast<int>(from.size()))];
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace pipesim::testing
