// A 4-ary heap: it has fewer levels than a binary heap, and the four children of a node share one
// or two cache lines.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace pipesim::sim {

/// A heap with the item that is before() all others on top. Items are small and plain.
template <typename Item>
class Heap {
 public:
  bool empty() const { return items_.empty(); }
  const Item& top() const { return items_.front(); }
  /// Returns all items, in no particular order.
  const std::vector<Item>& items() const { return items_; }
  /// Removes and returns all items.
  std::vector<Item> release() { return std::exchange(items_, {}); }
  void clear() { items_.clear(); }

  void push(const Item& item) {
    items_.push_back(item);
    std::size_t at = items_.size() - 1;
    while (at > 0) {
      const std::size_t parent = (at - 1) / 4;
      if (!item.before(items_[parent])) break;
      items_[at] = items_[parent];
      at = parent;
    }
    items_[at] = item;
  }

  Item pop() {
    const Item first = items_.front();
    const Item item = items_.back();
    items_.pop_back();
    const std::size_t size = items_.size();
    if (size == 0) return first;
    std::size_t at = 0;
    for (std::size_t child = 1; child < size; child = 4 * at + 1) {
      const std::size_t end = std::min(child + 4, size);
      std::size_t best = child;
      for (std::size_t i = child + 1; i < end; ++i) {
        if (items_[i].before(items_[best])) best = i;
      }
      if (!items_[best].before(item)) break;
      items_[at] = items_[best];
      at = best;
    }
    items_[at] = item;
    return first;
  }

 private:
  std::vector<Item> items_;
};

}  // namespace pipesim::sim
