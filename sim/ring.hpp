// A first-in-first-out queue in one block of memory, which it keeps: once it has grown to the size
// that a run needs, it no longer allocates.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "sim/assert.hpp"

namespace pipesim::sim {

template <typename T>
class Ring {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  bool empty() const { return size_ == 0; }
  std::uint32_t size() const { return size_; }

  const T& front() const {
    PIPESIM_DCHECK(size_ > 0);
    return items_[first_];
  }

  T& back() {
    PIPESIM_DCHECK(size_ > 0);
    return items_[(first_ + size_ - 1) & (capacity() - 1)];
  }

  /// Item `i` from the front, i < size().
  const T& operator[](std::uint32_t i) const {
    PIPESIM_DCHECK(i < size_, {"i", i}, {"size", size_});
    return items_[(first_ + i) & (capacity() - 1)];
  }

  void push(const T& item) {
    if (size_ == capacity()) grow();
    items_[(first_ + size_) & (capacity() - 1)] = item;
    ++size_;
  }

  T pop() {
    PIPESIM_DCHECK(size_ > 0);
    const T item = items_[first_];
    first_ = (first_ + 1) & (capacity() - 1);
    --size_;
    // A long queue was written long ago and is out of the cache.
    __builtin_prefetch(&items_[(first_ + kPerLine) & (capacity() - 1)]);
    return item;
  }

 private:
  static constexpr std::uint32_t kPerLine = sizeof(T) < 64 ? 64 / sizeof(T) : 1;  // of the cache

  // Always a power of two, or 0.
  std::uint32_t capacity() const { return static_cast<std::uint32_t>(items_.size()); }

  void grow() {
    std::vector<T> larger(capacity() == 0 ? 4 : 2 * std::size_t{capacity()});
    for (std::uint32_t i = 0; i < size_; ++i) larger[i] = (*this)[i];
    items_.swap(larger);
    first_ = 0;
  }

  std::vector<T> items_;
  std::uint32_t first_ = 0;
  std::uint32_t size_ = 0;
};

}  // namespace pipesim::sim
