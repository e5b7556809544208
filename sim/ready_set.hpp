// A set of small integers that returns the largest first, in a few instructions. A bit on level 0
// marks an integer of the set; a bit on a higher level marks a nonzero word of 64 bits on the level
// below.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pipesim::sim {

class ReadySet {
 public:
  /// Creates an empty set of integers below `size`.
  explicit ReadySet(std::size_t size) {
    do {
      size = (size + 63) / 64;
      levels_.emplace_back(size == 0 ? 1 : size, 0);
    } while (size > 1);
  }

  bool empty() const { return levels_.back().front() == 0; }

  void add(std::uint32_t number) {
    for (std::vector<std::uint64_t>& level : levels_) {
      std::uint64_t& word = level[number / 64];
      const bool known = word != 0;
      word |= std::uint64_t{1} << (number % 64);
      if (known) return;
      number /= 64;
    }
  }

  /// Removes and returns the largest integer. The set must not be empty.
  std::uint32_t pop() {
    std::uint32_t number = 0;
    for (std::size_t i = levels_.size(); i-- > 0;) {
      number =
          64 * number + (63 - static_cast<std::uint32_t>(std::countl_zero(levels_[i][number])));
    }
    std::uint32_t at = number;
    for (std::vector<std::uint64_t>& level : levels_) {
      std::uint64_t& word = level[at / 64];
      word &= ~(std::uint64_t{1} << (at % 64));
      if (word != 0) break;
      at /= 64;
    }
    return number;
  }

 private:
  std::vector<std::vector<std::uint64_t>> levels_;  // by level; level 0 has one bit per integer
};

}  // namespace pipesim::sim
