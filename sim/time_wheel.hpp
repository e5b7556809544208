// A queue of items by key, smallest key first: a radix heap with digits of six bits, which is also
// a hierarchy of timing wheels. (Ahuja et al., "Faster algorithms for the shortest path problem",
// 1990; Varghese and Lauck, "Hashed and hierarchical timing wheels", 1987.)
//
// Unlike a heap, the queue never compares two items: a comparison is unpredictable, and a
// mispredicted branch costs more than all other work. In return, keys must not decrease: no key is
// smaller than the last one taken.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "sim/assert.hpp"

namespace pipesim::sim {

/// A queue of small, plain items. Items with equal keys keep their order of arrival.
template <typename Item>
class TimeWheel {
 public:
  /// Greater than all keys.
  static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

  bool empty() const { return levels_ == 0; }

  /// Returns the smallest key, or kNone if the queue is empty.
  std::uint64_t first() const { return first_; }

  /// Adds an item. `key` is at least the last key taken, and not kNone.
  void push(std::uint64_t key, const Item& item) {
    PIPESIM_DCHECK(key >= base_ && key != kNone);
    const std::uint32_t node = new_node();
    nodes_[node].key = key;
    nodes_[node].item = item;
    link(node);
    first_ = std::min(first_, key);
  }

  /// Removes the items with the smallest key and passes them to `receive` in order.
  template <typename Receive>
  void take(Receive&& receive) {
    PIPESIM_DCHECK(!empty());
    std::uint32_t node = take_list(lowest_level());
    base_ = first_;
    // On level 0 all items of a slot have one key. On a higher level, items with other keys move
    // down.
    while (node != kEnd) {
      Node& at = nodes_[node];
      const std::uint32_t next = at.next;
      if (at.key == base_) {
        receive(at.item);
        release(node);
      } else {
        link(node);
      }
      node = next;
    }
    find_first();
  }

  /// Calls `see` with the key and item of each node, in no particular order.
  template <typename See>
  void for_each(See&& see) const {
    for (const Node& node : nodes_) {
      if (node.key != kNone) see(node.key, node.item);
    }
  }

  /// Removes all items. Later keys must still be at least the last key taken.
  void clear() {
    nodes_.clear();
    free_ = kEnd;
    for (; levels_ != 0; levels_ &= levels_ - 1) filled_[lowest_level()] = 0;
    first_ = kNone;
  }

 private:
  static constexpr std::uint32_t kBits = 6;
  static constexpr std::uint32_t kSlots = 1u << kBits;
  static constexpr std::uint32_t kLevels = (64 + kBits - 1) / kBits;
  static constexpr std::uint32_t kEnd = 0xffffffff;  // end of a list

  struct Node {
    std::uint64_t key = kNone;  // kNone: the node is free
    Item item{};
    std::uint32_t next = kEnd;  // next node of its slot, or next free node
  };

  struct List {
    std::uint32_t first = kEnd;
    std::uint32_t last = kEnd;
  };

  std::uint32_t lowest_level() const {
    return static_cast<std::uint32_t>(std::countr_zero(levels_));
  }
  std::uint32_t lowest_slot(std::uint32_t level) const {
    return static_cast<std::uint32_t>(std::countr_zero(filled_[level]));
  }

  // Adds a free node. Not inlined: a new node is rare, and inlining it would cost registers in each
  // push.
  [[gnu::noinline]] void add_node() {
    nodes_.emplace_back();
    free_ = static_cast<std::uint32_t>(nodes_.size() - 1);
  }

  std::uint32_t new_node() {
    if (free_ == kEnd) add_node();
    const std::uint32_t node = free_;
    free_ = nodes_[node].next;
    return node;
  }

  void release(std::uint32_t node) {
    nodes_[node].key = kNone;
    nodes_[node].next = free_;
    free_ = node;
  }

  // Adds a node to the list of its level and slot. The level is the highest digit in which the key
  // differs from `base_`; the slot is the value of that digit. So all keys of a level are smaller
  // than the keys of higher levels.
  void link(std::uint32_t node) {
    const std::uint64_t key = nodes_[node].key;
    const auto level = static_cast<std::uint32_t>(std::bit_width((key ^ base_) | 1) - 1) / kBits;
    const std::uint64_t digit = key >> (level * kBits) & (kSlots - 1);
    const std::uint64_t bit = std::uint64_t{1} << digit;
    List& list = lists_[level][digit];
    nodes_[node].next = kEnd;
    if ((filled_[level] & bit) == 0) {
      list.first = node;
    } else {
      nodes_[list.last].next = node;
    }
    list.last = node;
    filled_[level] |= bit;
    levels_ |= 1u << level;
  }

  // Empties the first slot of the level and returns the first node of the slot.
  std::uint32_t take_list(std::uint32_t level) {
    const std::uint32_t slot = lowest_slot(level);
    filled_[level] &= filled_[level] - 1;
    if (filled_[level] == 0) levels_ &= ~(1u << level);
    return lists_[level][slot].first;
  }

  void find_first() {
    first_ = kNone;
    if (empty()) return;
    const std::uint32_t level = lowest_level();
    std::uint32_t node = lists_[level][lowest_slot(level)].first;
    first_ = nodes_[node].key;
    if (level == 0) return;
    for (node = nodes_[node].next; node != kEnd; node = nodes_[node].next) {
      first_ = std::min(first_, nodes_[node].key);
    }
  }

  std::vector<Node> nodes_;
  std::uint32_t free_ = kEnd;  // the first free node
  std::uint32_t levels_ = 0;   // one bit per nonempty level
  std::uint64_t base_ = 0;     // the last key taken
  std::uint64_t first_ = kNone;
  std::array<std::uint64_t, kLevels> filled_{};  // per level, one bit per slot
  // Per level and slot: its items; valid only while the slot's bit in `filled_` is set.
  std::array<std::array<List, kSlots>, kLevels> lists_;
};

}  // namespace pipesim::sim
