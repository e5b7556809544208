// A first-in-first-out queue in one block of memory. The queue keeps its memory, so a queue that no
// longer grows does not allocate.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "sim/assert.hpp"

namespace pipesim::sim {

template <typename T>
class Ring {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Ring() = default;
  Ring(const Ring& other) { *this = other; }
  Ring(Ring&& other) noexcept { *this = std::move(other); }
  ~Ring() = default;

  Ring& operator=(const Ring& other) {
    if (this == &other) return *this;
    if (other.size_ > capacity()) {
      items_ = std::make_unique<T[]>(other.capacity());
      mask_ = other.mask_;
    }
    for (std::uint32_t i = 0; i < other.size_; ++i) items_[i] = other[i];
    first_ = 0;
    size_ = other.size_;
    return *this;
  }

  Ring& operator=(Ring&& other) noexcept {
    std::swap(items_, other.items_);
    std::swap(mask_, other.mask_);
    std::swap(first_, other.first_);
    std::swap(size_, other.size_);
    return *this;
  }

  bool empty() const { return size_ == 0; }
  std::uint32_t size() const { return size_; }

  const T& front() const {
    PIPESIM_DCHECK(size_ > 0);
    return items_[first_];
  }

  T& back() {
    PIPESIM_DCHECK(size_ > 0);
    return items_[place(size_ - 1)];
  }

  /// Returns item `i` from the front; i < size().
  const T& operator[](std::uint32_t i) const {
    PIPESIM_DCHECK(i < size_, {"i", i}, {"size", size_});
    return items_[place(i)];
  }

  void push(const T& item) {
    if (size_ == capacity()) grow();
    items_[place(size_)] = item;
    ++size_;
  }

  T pop() {
    PIPESIM_DCHECK(size_ > 0);
    const T item = items_[first_];
    first_ = place(1);
    --size_;
    // The items of a long queue were written long ago and have left the cache.
    __builtin_prefetch(&items_[place(kPerLine)]);
    return item;
  }

 private:
  // Items per cache line.
  static constexpr std::uint32_t kPerLine = sizeof(T) < 64 ? 64 / sizeof(T) : 1;

  std::uint32_t capacity() const { return mask_ + 1; }
  std::uint32_t place(std::uint32_t i) const { return (first_ + i) & mask_; }

  // Doubles the capacity. Not inlined: growing is rare, and inlining it would cost registers in
  // each push.
  [[gnu::noinline]] void grow() {
    const std::uint32_t larger = capacity() == 0 ? 4 : 2 * capacity();
    auto items = std::make_unique<T[]>(larger);
    for (std::uint32_t i = 0; i < size_; ++i) items[i] = (*this)[i];
    items_ = std::move(items);
    mask_ = larger - 1;
    first_ = 0;
  }

  std::unique_ptr<T[]> items_;
  std::uint32_t mask_ = 0xffffffff;  // capacity - 1; the capacity is 0 or a power of two
  std::uint32_t first_ = 0;
  std::uint32_t size_ = 0;
};

}  // namespace pipesim::sim
