// V-Half and V-Min (Qi et al., "Pipeline Parallelism with Controllable Memory", arXiv 2405.15362):
// two stages per rank, the second on the way back, with half and with a third of the activations of
// 1F1B.
//
// A pattern of two forwards and two input gradients, six slots long, repeats for each micro-batch,
// and weight gradients take the free slots. Then actions move to earlier free slots, as far as
// their inputs and the memory of their rank allow. The first pass moves weight gradients like other
// actions; the second pass, without weight gradients, moves only actions after the first rank's
// last forward. The authors' program does the same (sail-sg/zero-bubble-pipeline-parallelism,
// zbv_greedy.py), and the result is equal action by action. Costs have no effect: all actions take
// one slot.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "models/schedules/generators.hpp"

namespace pipesim::models::schedules {
namespace {

using Time = std::int32_t;  // unit: slots

// The actions of a rank for each micro-batch, in order. kWeights stands for both weight gradients,
// in the order of the input gradients; kFree marks a free slot.
enum Kind : std::uint8_t { kFirst, kSecond, kSecondGrad, kFirstGrad, kWeights, kFree };
constexpr std::uint8_t kMoved = kWeights;  // earlier kinds occur once per micro-batch

bool gives_weights(std::uint8_t kind) { return kind == kSecondGrad || kind == kFirstGrad; }

// The slots of a rank. Memory is counted in activations of one stage.
class Line {
 public:
  Line(const std::array<Time, 4>& pattern, std::uint32_t micro_batches) {
    for (std::uint8_t kind = 0; kind < kMoved; ++kind) {
      for (std::uint32_t m = 0; m < micro_batches; ++m) {
        times_[kind].push_back(pattern[kind] + static_cast<Time>(6 * m));
      }
    }
  }

  const std::vector<Time>& times(std::uint8_t kind) const { return times_[kind]; }
  std::uint8_t at(Time time) const { return slots_[static_cast<std::size_t>(time)]; }

  /// Places weight gradients in the free slots, as early as possible, and the rest after the last
  /// slot.
  void place_weights() {
    drop_weights();
    std::uint32_t open = 0;
    Time time = 0;
    for (; time < end(); ++time) {
      if (at(time) != kFree) {
        open += gives_weights(at(time)) ? 1u : 0u;
      } else if (open > 0) {
        times_[kWeights].push_back(time);
        --open;
      }
    }
    for (; open > 0; --open) times_[kWeights].push_back(time++);
    lay_out();
  }

  void drop_weights() {
    times_[kWeights].clear();
    lay_out();
  }

  void set_times(std::array<std::vector<Time>, 5> times) { times_ = std::move(times); }

  /// Computes the memory after each slot, and returns the maximum. move() keeps these values up to
  /// date.
  std::int32_t count_memory() {
    memory_.assign(slots_.size(), State());
    State state;
    std::int32_t most = 0;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      state = after(state, slots_[i]);
      memory_[i] = state;
      most = std::max(most, state.held);
    }
    return most;
  }

  /// Moves the action at `from` to the earlier free slot `to`. If memory would exceed `most`,
  /// returns false without a change.
  bool move(Time from, Time to, std::uint32_t number, std::int32_t most) {
    const std::uint8_t kind = at(from);
    slot(to) = kind;
    slot(from) = kFree;
    if (!remember(to, from, most)) {
      slot(to) = kFree;
      slot(from) = kind;
      return false;
    }
    times_[kind][number] = to;
    return true;
  }

 private:
  // The memory after a slot. While weight gradients are not placed, open weight gradients count as
  // placed in the free slots.
  struct State {
    std::int32_t held = 0;
    std::int32_t open = 0;

    friend bool operator==(const State&, const State&) = default;
  };

  std::uint8_t& slot(Time time) { return slots_[static_cast<std::size_t>(time)]; }
  Time end() const { return static_cast<Time>(slots_.size()); }

  void lay_out() {
    Time end = 0;
    for (const std::vector<Time>& times : times_) {
      if (!times.empty()) end = std::max(end, times.back() + 1);
    }
    slots_.assign(static_cast<std::size_t>(end), kFree);
    for (std::uint8_t kind = 0; kind < kFree; ++kind) {
      for (const Time time : times_[kind]) slot(time) = kind;
    }
  }

  State after(State state, std::uint8_t kind) const {
    if (kind == kFirst || kind == kSecond) ++state.held;
    if (kind == kWeights) --state.held;
    if (!times_[kWeights].empty()) return state;
    if (gives_weights(kind)) ++state.open;
    if (kind == kFree && state.open > 0) {
      --state.open;
      --state.held;
    }
    return state;
  }

  // Recomputes the memory after each slot, from slot `begin` to slot `end` or further, until the
  // values no longer change. If the memory exceeds `most`, returns false and changes nothing.
  bool remember(Time begin, Time end, std::int32_t most) {
    State state = begin == 0 ? State() : memory_[static_cast<std::size_t>(begin) - 1];
    fresh_.clear();
    for (auto i = static_cast<std::size_t>(begin); i < slots_.size(); ++i) {
      state = after(state, slots_[i]);
      if (i > static_cast<std::size_t>(end) && state == memory_[i]) break;
      if (state.held > most) return false;
      fresh_.push_back(state);
    }
    std::copy(fresh_.begin(), fresh_.end(), memory_.begin() + begin);
    return true;
  }

  std::array<std::vector<Time>, 5> times_;
  std::vector<std::uint8_t> slots_;  // kind of action per slot
  std::vector<State> memory_;        // state after each slot
  std::vector<State> fresh_;
};

// An action and its time before any move. Moves consider actions in the order of these times.
struct Item {
  Time time;
  std::uint32_t rank;
  std::uint8_t kind;
  std::uint32_t number;
};

class Lines {
 public:
  Lines(const std::vector<std::array<Time, 4>>& patterns, std::uint32_t micro_batches)
      : micro_batches_(micro_batches) {
    for (const std::array<Time, 4>& pattern : patterns) lines_.emplace_back(pattern, micro_batches);
  }

  std::vector<Line> run() {
    for (Line& line : lines_) line.place_weights();
    move_all(true);
    squeeze();
    for (Line& line : lines_) line.drop_weights();
    move_all(false);
    for (Line& line : lines_) line.place_weights();
    squeeze();
    for (Line& line : lines_) line.place_weights();
    return std::move(lines_);
  }

 private:
  std::vector<Item> in_order() const {
    std::vector<Item> items;
    for (std::uint32_t rank = 0; rank < lines_.size(); ++rank) {
      for (std::uint8_t kind = 0; kind < kFree; ++kind) {
        const std::vector<Time>& times = lines_[rank].times(kind);
        for (std::uint32_t i = 0; i < times.size(); ++i) items.push_back({times[i], rank, kind, i});
      }
    }
    std::stable_sort(items.begin(), items.end(),
                     [](const Item& a, const Item& b) { return a.time < b.time; });
    return items;
  }

  // Moves the actions before the first rank's first backward and after the first rank's last
  // forward; without weight gradients, only the actions after this forward.
  void move_all(bool with_weights) {
    std::int32_t most = 0;
    for (Line& line : lines_) most = std::max(most, line.count_memory());
    std::uint32_t phase = 0;
    for (const Item& item : in_order()) {
      if (item.kind == kFirstGrad && item.rank == 0 && phase == 0) phase = 1;
      if (phase == 1) {
        if (item.kind == kFirst && item.number + 1 == micro_batches_) phase = 2;
        continue;
      }
      if (phase == 0 && !with_weights) continue;
      Line& line = lines_[item.rank];
      for (Time time = earliest(item); time < item.time; ++time) {
        if (line.at(time) == kFree && line.move(item.time, time, item.number, most)) break;
      }
    }
  }

  Time earliest(const Item& item) const {
    const std::uint32_t i = item.number;
    Time after = -1;
    const auto behind = [&](std::uint32_t rank, std::uint8_t kind, std::uint32_t number) {
      after = std::max(after, lines_[rank].times(kind)[number]);
    };
    const bool down = item.kind == kFirst || item.kind == kSecondGrad;
    const bool up = item.kind == kSecond || item.kind == kFirstGrad;
    if (down && item.rank > 0) behind(item.rank - 1, item.kind, i);
    if (up && item.rank + 1 < lines_.size()) behind(item.rank + 1, item.kind, i);
    if (item.kind > 0 && item.kind < kMoved) {
      behind(item.rank, static_cast<std::uint8_t>(item.kind - 1), i);
    }
    if (item.kind == kWeights) after = std::max(after, gradient(item.rank, i));
    if (i > 0) behind(item.rank, item.kind, i - 1);
    return after + 1;
  }

  // Returns the time of the i-th input gradient of a rank.
  Time gradient(std::uint32_t rank, std::uint32_t i) const {
    const std::vector<Time>& a = lines_[rank].times(kSecondGrad);
    const std::vector<Time>& b = lines_[rank].times(kFirstGrad);
    // Finds the smallest time up to which more than i gradients are done.
    const auto count = [&](Time time) {
      const auto up_to = [&](const std::vector<Time>& times) {
        return std::upper_bound(times.begin(), times.end(), time) - times.begin();
      };
      return static_cast<std::uint32_t>(up_to(a) + up_to(b));
    };
    Time low = 0;
    Time high = std::max(a.back(), b.back());
    while (low < high) {
      const Time middle = low + (high - low) / 2;
      if (count(middle) > i) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  // Moves each action as early as its inputs and the order of its rank allow; each action takes one
  // slot.
  void squeeze() {
    std::vector<std::array<std::vector<Time>, 5>> fresh(lines_.size());
    std::vector<Time> free(lines_.size(), 0);
    for (const Item& item : in_order()) {
      Time time = free[item.rank];
      const auto behind = [&](std::uint32_t rank, std::uint8_t kind) {
        time = std::max(time, fresh[rank][kind][item.number] + 1);
      };
      const bool down = item.kind == kFirst || item.kind == kSecondGrad;
      const bool up = item.kind == kSecond || item.kind == kFirstGrad;
      if (down && item.rank > 0) behind(item.rank - 1, item.kind);
      if (up && item.rank + 1 < lines_.size()) behind(item.rank + 1, item.kind);
      if (item.kind > 0 && item.kind < kMoved) {
        behind(item.rank, static_cast<std::uint8_t>(item.kind - 1));
      }
      fresh[item.rank][item.kind].push_back(time);
      free[item.rank] = time + 1;
    }
    for (std::uint32_t rank = 0; rank < lines_.size(); ++rank) {
      lines_[rank].set_times(std::move(fresh[rank]));
    }
  }

  std::uint32_t micro_batches_;
  std::vector<Line> lines_;
};

// Returns the row of `rank`. Weight gradients of the second stage come before the first stage's.
Actions row_of(const Line& line, std::uint32_t rank, const ScheduleShape& shape) {
  const std::uint32_t first = rank;
  const std::uint32_t second = shape.stages - 1 - rank;
  std::vector<std::pair<Time, std::uint8_t>> slots;
  for (std::uint8_t kind = 0; kind < kFree; ++kind) {
    for (const Time time : line.times(kind)) slots.emplace_back(time, kind);
  }
  std::sort(slots.begin(), slots.end());
  Actions row;
  std::array<std::uint32_t, 4> done{};
  std::array<std::uint32_t, 2> weights{};  // weight gradients so far: second stage, first stage
  for (const auto& [time, kind] : slots) {
    if (kind == kWeights) {
      const std::uint32_t of = weights[0] < done[kSecondGrad] ? 0 : 1;
      row.push_back(weight_grad(of == 0 ? second : first, weights[of]++));
      continue;
    }
    const std::uint32_t m = done[kind]++;
    if (kind == kFirst) row.push_back(forward(first, m));
    if (kind == kSecond) row.push_back(forward(second, m));
    if (kind == kSecondGrad) row.push_back(input_grad(second, m));
    if (kind == kFirstGrad) row.push_back(input_grad(first, m));
  }
  return row;
}

std::vector<Actions> rows_of(const std::vector<std::array<Time, 4>>& patterns,
                             const ScheduleShape& shape) {
  const std::vector<Line> lines = Lines(patterns, shape.micro_batches).run();
  std::vector<Actions> rows;
  for (std::uint32_t rank = 0; rank < lines.size(); ++rank) {
    rows.push_back(row_of(lines[rank], rank, shape));
  }
  return rows;
}

}  // namespace

std::vector<Actions> v_half(const ScheduleShape& shape) {
  const auto ranks = static_cast<Time>(shape.ranks());
  const Time gap = ranks % 2 == 0 ? 3 : 0;  // keeps actions of a rank in different slots
  std::vector<std::array<Time, 4>> patterns;
  for (Time i = 0; i < ranks; ++i) {
    patterns.push_back(
        {2 * i, 3 * ranks - i - 2, 3 * ranks + gap + 2 * i - 1, 6 * ranks + gap - i - 2});
  }
  return rows_of(patterns, shape);
}

std::vector<Actions> v_min(const ScheduleShape& shape) {
  const auto ranks = static_cast<Time>(shape.ranks());
  const Time gap = ranks % 3 == 0 ? 2 : 0;
  std::vector<std::array<Time, 4>> patterns;
  for (Time i = 0; i < ranks; ++i) {
    patterns.push_back({i, 2 * ranks - i - 1, 2 * ranks + gap + i, 4 * ranks + gap - i - 1});
  }
  return rows_of(patterns, shape);
}

}  // namespace pipesim::models::schedules
