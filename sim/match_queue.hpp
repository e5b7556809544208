// One side of message matching: the posted recvs, or the messages that have arrived. Items with
// equal (rank, peer, tag) leave in the order of arrival. A lookup by key takes constant time for
// any queue length.
//
// A hash table (open addressing, linear probing) has an entry per (rank, peer, tag) with waiting
// items. If recvs with wildcards exist, a list per rank also holds all items of the rank in order
// of arrival and is searched linearly. tests/twin/loggops_test.cpp tests this queue.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/assert.hpp"
#include "sim/time.hpp"

namespace pipesim::sim {

struct MatchKey {
  std::uint32_t rank = 0;
  std::uint32_t peer = 0;
  std::uint32_t tag = 0;

  friend constexpr auto operator<=>(const MatchKey&, const MatchKey&) = default;
};

/// A waiting item: its key, the op, and its time of arrival.
struct MatchItem {
  MatchKey key;
  std::uint32_t op = 0;
  Time time;
  std::uint64_t order = 0;  // increases from item to item
};

class MatchQueue {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  /// Creates an empty queue; first_at() requires `listed`.
  MatchQueue(std::uint32_t ranks, bool listed)
      : table_(kSmallest), first_(listed ? ranks : 0, kNone), last_(listed ? ranks : 0, kNone) {}

  void push(const MatchKey& key, std::uint32_t op, Time time) {
    const std::uint32_t node = new_node({key, op, time, order_++});
    std::size_t slot = find(key);
    if (table_[slot].first == kNone) {
      if (2 * (used_ + 1) > table_.size()) {
        grow();
        slot = find(key);
      }
      table_[slot] = {key, node, node};
      ++used_;
    } else {
      nodes_[table_[slot].last].next = node;
      table_[slot].last = node;
    }
    if (!first_.empty()) append_to_list(node);
  }

  /// Returns the first item with exactly this key, or nullptr.
  const MatchItem* first(const MatchKey& key) const {
    const Entry& entry = table_[find(key)];
    return entry.first == kNone ? nullptr : &nodes_[entry.first].item;
  }

  /// Returns the first item at `rank` whose key satisfies `fits`, or nullptr. The item is also the
  /// first of its key.
  template <typename Fits>
  const MatchItem* first_at(std::uint32_t rank, const Fits& fits) const {
    for (std::uint32_t node = first_[rank]; node != kNone; node = nodes_[node].after) {
      if (fits(nodes_[node].item.key)) return &nodes_[node].item;
    }
    return nullptr;
  }

  /// Removes and returns the first item with exactly this key. The item must exist.
  MatchItem take(const MatchKey& key) {
    const std::size_t slot = find(key);
    const std::uint32_t node = table_[slot].first;
    PIPESIM_DCHECK(node != kNone);
    if (nodes_[node].next == kNone) {
      erase(slot);
    } else {
      table_[slot].first = nodes_[node].next;
    }
    if (!first_.empty()) remove_from_list(node);
    nodes_[node].next = free_;
    free_ = node;
    return nodes_[node].item;
  }

 private:
  static constexpr std::size_t kSmallest = 64;

  struct Node {
    MatchItem item;
    std::uint32_t next = kNone;    // next node of this key, or next free node
    std::uint32_t before = kNone;  // neighbors in the list of this rank
    std::uint32_t after = kNone;
  };
  struct Entry {
    MatchKey key;
    std::uint32_t first = kNone;  // kNone: the entry is empty
    std::uint32_t last = kNone;
  };

  std::size_t home(const MatchKey& key) const {
    std::uint64_t hash = (std::uint64_t{key.rank} << 32 | key.peer) * 0x9e3779b97f4a7c15;
    hash = (hash ^ hash >> 32 ^ key.tag) * 0xff51afd7ed558ccd;
    return static_cast<std::size_t>(hash >> 32) & (table_.size() - 1);
  }

  // Returns the slot of `key`, or the empty slot where it belongs.
  std::size_t find(const MatchKey& key) const {
    std::size_t slot = home(key);
    while (table_[slot].first != kNone && table_[slot].key != key) {
      slot = (slot + 1) & (table_.size() - 1);
    }
    return slot;
  }

  void grow() {
    std::vector<Entry> before(2 * table_.size());
    before.swap(table_);
    for (const Entry& entry : before) {
      if (entry.first != kNone) table_[find(entry.key)] = entry;
    }
  }

  // Empties a slot, and moves later entries into the hole if that brings them closer to their home
  // slots.
  void erase(std::size_t hole) {
    const std::size_t mask = table_.size() - 1;
    for (std::size_t at = (hole + 1) & mask; table_[at].first != kNone; at = (at + 1) & mask) {
      const std::size_t wanted = home(table_[at].key);
      if (((at - wanted) & mask) < ((at - hole) & mask)) continue;
      table_[hole] = table_[at];
      hole = at;
    }
    table_[hole] = Entry();
    --used_;
  }

  std::uint32_t new_node(const MatchItem& item) {
    if (free_ == kNone) {
      nodes_.push_back({item, kNone, kNone, kNone});
      return static_cast<std::uint32_t>(nodes_.size() - 1);
    }
    const std::uint32_t node = free_;
    free_ = nodes_[node].next;
    nodes_[node] = {item, kNone, kNone, kNone};
    return node;
  }

  void append_to_list(std::uint32_t node) {
    const std::uint32_t rank = nodes_[node].item.key.rank;
    nodes_[node].before = last_[rank];
    (last_[rank] == kNone ? first_[rank] : nodes_[last_[rank]].after) = node;
    last_[rank] = node;
  }

  void remove_from_list(std::uint32_t node) {
    const Node& gone = nodes_[node];
    const std::uint32_t rank = gone.item.key.rank;
    (gone.before == kNone ? first_[rank] : nodes_[gone.before].after) = gone.after;
    (gone.after == kNone ? last_[rank] : nodes_[gone.after].before) = gone.before;
  }

  std::vector<Entry> table_;  // the size is a power of two
  std::vector<Node> nodes_;
  std::uint32_t free_ = kNone;
  std::size_t used_ = 0;
  std::uint64_t order_ = 0;
  std::vector<std::uint32_t> first_;  // by rank: first node of its list; empty if not listed
  std::vector<std::uint32_t> last_;
};

}  // namespace pipesim::sim
