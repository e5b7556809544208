// A list as small as a pointer, for the many lists that hold no item or one item.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace pipesim::models {

/// A vector with a third of the size of std::vector, and with only the most common member
/// functions. The number of items is stored before the first item and is at most 2^32 - 1.
template <typename T>
class ShortList {
 public:
  using value_type = T;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using iterator = T*;
  using const_iterator = const T*;

  ShortList() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): as among containers of the standard library
  ShortList(std::initializer_list<T> items) { append(items.begin(), items.end()); }
  // NOLINTNEXTLINE(google-explicit-constructor): callers collect items in a vector
  ShortList(std::vector<T> items) {
    append(std::move_iterator(items.begin()), std::move_iterator(items.end()));
  }
  ShortList(const ShortList& other) { append(other.begin(), other.end()); }
  ShortList(ShortList&& other) noexcept : head_(std::exchange(other.head_, nullptr)) {}
  ShortList& operator=(ShortList other) noexcept {
    std::swap(head_, other.head_);
    return *this;
  }
  ~ShortList() {
    std::destroy(begin(), end());
    ::operator delete(head_);
  }

  bool empty() const { return size() == 0; }
  std::size_t size() const { return head_ == nullptr ? 0 : head_->size; }
  T* begin() { return head_ == nullptr ? nullptr : items_of(head_); }
  T* end() { return begin() + size(); }
  const T* begin() const { return head_ == nullptr ? nullptr : items_of(head_); }
  const T* end() const { return begin() + size(); }
  T& operator[](std::size_t i) { return begin()[i]; }
  const T& operator[](std::size_t i) const { return begin()[i]; }
  T& front() { return *begin(); }
  const T& front() const { return *begin(); }
  T& back() { return end()[-1]; }
  const T& back() const { return end()[-1]; }

  void reserve(std::size_t count) {
    if (count <= (head_ == nullptr ? 0 : head_->capacity)) return;
    Head* const larger = new (::operator new(kHead + count * sizeof(T)))
        Head{static_cast<std::uint32_t>(size()), static_cast<std::uint32_t>(count)};
    std::uninitialized_move(begin(), end(), items_of(larger));
    std::destroy(begin(), end());
    ::operator delete(head_);
    head_ = larger;
  }
  template <typename... Arguments>
  T& emplace_back(Arguments&&... arguments) {
    // Makes the item before reserve(), because the arguments can refer to an item of this list.
    T item{std::forward<Arguments>(arguments)...};
    if (head_ == nullptr || head_->size == head_->capacity) reserve(size() == 0 ? 1 : 2 * size());
    T* const added = new (end()) T(std::move(item));
    ++head_->size;
    return *added;
  }
  void push_back(T item) { emplace_back(std::move(item)); }
  void assign(std::size_t count, const T& item) { *this = std::vector<T>(count, item); }
  T* erase(T* at) { return erase(at, at + 1); }
  T* erase(T* first, T* last) {
    T* const kept_end = std::move(last, end(), first);
    if (first == last) return first;
    std::destroy(kept_end, end());
    head_->size = static_cast<std::uint32_t>(kept_end - begin());
    return first;
  }
  void clear() { *this = ShortList(); }

  friend bool operator==(const ShortList& a, const ShortList& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  struct Head {
    std::uint32_t size;
    std::uint32_t capacity;
  };

  // Items follow the head, aligned for any T.
  static constexpr std::size_t kHead = sizeof(Head);
  static T* items_of(Head* head) {
    static_assert(alignof(T) <= kHead);
    return std::launder(reinterpret_cast<T*>(reinterpret_cast<std::byte*>(head) + kHead));
  }

  template <typename Iterator>
  void append(Iterator first, Iterator last) {
    reserve(size() + static_cast<std::size_t>(std::distance(first, last)));
    for (; first != last; ++first) push_back(*first);
  }

  Head* head_ = nullptr;
};

}  // namespace pipesim::models
