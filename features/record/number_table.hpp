// A table of values by number, for numbers that mostly count up from 0 or 1, as works and sequence
// numbers do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace pipesim::models {

/// A map from integers to values. A value that was never set is `T()`.
template <typename T>
class NumberTable {
 public:
  T& operator[](std::int64_t number) {
    const auto index = static_cast<std::uint64_t>(number);
    if (!others_.empty()) {
      const auto found = others_.find(number);
      if (found != others_.end()) return found->second;
    }
    if (index < dense_.size()) return dense_[index];
    // A number far above all others would need a large array of mostly unset values.
    constexpr std::size_t kMinSize = 64;
    if (index > 2 * dense_.size() + kMinSize) return others_[number];
    dense_.resize(index + 1);
    return dense_[index];
  }

  T get(std::int64_t number) const {
    if (!others_.empty()) {
      const auto found = others_.find(number);
      if (found != others_.end()) return found->second;
    }
    const auto index = static_cast<std::uint64_t>(number);
    return index < dense_.size() ? dense_[index] : T();
  }

 private:
  std::vector<T> dense_;
  std::unordered_map<std::int64_t, T> others_;
};

}  // namespace pipesim::models
