// The pending events of a LogGOPS run, in the order (time, turn). Not sim/event_queue.hpp: there
// events of an instant are in the order in which they were made, and a turn outlives its events.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/ring.hpp"
#include "sim/time.hpp"

namespace pipesim::sim {

/// What `target` is, the caller says.
struct TurnEvent {
  Time time;
  std::uint32_t turn = 0;
  std::uint32_t target = 0;

  bool before(const TurnEvent& other) const {
    return time != other.time ? time < other.time : turn < other.turn;
  }
};

/// A 4-ary heap; the item goes first that is before() all others.
template <typename Item>
class TurnHeap {
 public:
  bool empty() const { return items_.empty(); }
  const Item& top() const { return items_.front(); }

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
    const Item result = items_.front();
    const Item item = items_.back();
    items_.pop_back();
    const std::size_t size = items_.size();
    if (size == 0) return result;
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
    return result;
  }

 private:
  std::vector<Item> items_;
};

/// The pending events. Those of the present instant need no heap as long as their turns ascend, as
/// those of what has just become free do.
class TurnQueue {
 public:
  bool empty() const { return present_.empty() && future_.empty(); }
  Time next_time() const { return present_.empty() ? future_.top().time : now_; }

  void push(const TurnEvent& event) {
    const bool last = present_.empty() || present_.back().turn < event.turn;
    if (event.time == now_ && last) {
      present_.push(event);
    } else {
      future_.push(event);
    }
  }

  TurnEvent pop() {
    const bool future = present_.empty() || (!future_.empty() && future_.top().time == now_ &&
                                             future_.top().turn < present_.front().turn);
    if (!future) return present_.pop();
    now_ = future_.top().time;
    return future_.pop();
  }

 private:
  Time now_{0};  // of the last that was taken
  Ring<TurnEvent> present_;
  TurnHeap<TurnEvent> future_;
};

}  // namespace pipesim::sim
