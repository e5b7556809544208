// ZB-V as its authors generate it (Qi et al., arXiv 2401.10241;
// sail-sg/zero-bubble-pipeline-parallelism at 39f2c186, zbv.py): two stages per rank, the second on
// the way back. The generator places one action at a time, so that the bubble stays as small as
// possible for the given costs, within the memory of 1F1B. The generator tries four preferences,
// repeats each preference with the bubbles of the previous attempt allowed, and keeps the best
// result. The result equals the authors' action by action, if the weight gradient frees the memory.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "models/schedules/generators.hpp"
#include "sim/assert.hpp"

namespace pipesim::models::schedules {
namespace {

enum Work : std::uint8_t { kF, kB, kW };

struct Preference {
  bool fill_f = true;  // whether to put a weight gradient before a forward that would wait
  // Whether to put a weight gradient before an input gradient of the first chunk that would wait.
  bool fill_b = true;
};

struct Result {
  std::vector<Actions> rows;
  std::int64_t bubble = 0;            // maximum over all ranks
  std::vector<std::int64_t> bubbles;  // bubble per rank
};

// One run of the generator. Chunks count in the order of computation, so chunk 0 of a gradient is
// the second stage.
class Attempt {
 public:
  Attempt(const ScheduleShape& shape, Preference preference, std::vector<std::int64_t> approved)
      : shape_(shape),
        preference_(preference),
        approved_(std::move(approved)),
        ranks_(shape.ranks()),
        count_(shape.micro_batches),
        most_held_(2 * shape.ranks()),
        end_(std::size_t{6} * ranks_ * count_, -1),
        state_(ranks_) {
    result_.rows.resize(ranks_);
    if (!approved_.empty()) most_approved_ = *std::max_element(approved_.begin(), approved_.end());
  }

  Result run() {
    warm_up();
    for (std::uint32_t i = 0; i < 2 * count_; ++i) {
      put_backwards();
      for (std::uint32_t rank = 0; rank < ranks_; ++rank) put_forward(rank);
    }
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      while (!state_[rank].open.empty()) put_weights(rank);
    }
    result_.bubble = most_bubble(std::nullopt);
    for (const Rank& rank : state_) result_.bubbles.push_back(rank.bubble);
    return std::move(result_);
  }

 private:
  struct Rank {
    std::int64_t time = 0;
    std::int64_t bubble = 0;
    std::uint32_t held = 0;
    std::array<std::array<std::uint32_t, 2>, 3> done{};
    // Weight gradients left to place: chunk, micro-batch.
    std::deque<std::pair<std::uint8_t, std::uint32_t>> open;
  };

  std::int64_t cost(Work kind) const {
    const ScheduleCosts& costs = shape_.costs;
    return kind == kF ? costs.forward_ns : kind == kB ? costs.input_grad_ns : costs.weight_grad_ns;
  }

  std::int64_t& end(Work kind, std::uint32_t chunk, std::uint32_t rank, std::uint32_t number) {
    return end_[((std::size_t{kind} * 2 + chunk) * ranks_ + rank) * count_ + number];
  }

  std::uint32_t forwards(std::uint32_t rank, std::uint32_t chunk) const {
    return state_[rank].done[kF][chunk];
  }
  std::uint32_t gradients(std::uint32_t rank, std::uint32_t chunk) const {
    return state_[rank].done[kB][chunk];
  }

  // Returns the rank whose result an action needs; nullopt for the first stage in its direction.
  std::optional<std::uint32_t> source(std::uint32_t chunk, std::uint32_t rank) const {
    if (chunk == 0) return rank > 0 ? std::optional(rank - 1) : std::nullopt;
    return rank + 1 < ranks_ ? std::optional(rank + 1) : std::nullopt;
  }

  std::int64_t most_bubble(std::optional<std::uint32_t> rank) const {
    std::int64_t most = 0;
    for (const Rank& one : state_) most = std::max(most, one.bubble);
    if (!rank) return most;
    return std::max(most, most_approved_ - (approved_.empty() ? -1 : approved_[*rank]));
  }

  void put(Work kind, std::uint32_t chunk, std::uint32_t rank) {
    Rank& here = state_[rank];
    const std::uint32_t number = here.done[kind][chunk];
    PIPESIM_CHECK(number < count_);
    const std::int64_t at_once = here.time + cost(kind);
    std::int64_t until = at_once;
    if (const auto from = source(chunk, rank); from && kind != kW) {
      const std::int64_t there = end(kind, chunk, *from, number);
      PIPESIM_CHECK(there >= 0);
      until = std::max(until, there + shape_.costs.message_ns + cost(kind));
    }
    if (here.done[kF][0] > 0) here.bubble += until - at_once;
    end(kind, chunk, rank, number) = until;
    here.time = until;
    if (kind == kF) ++here.held;
    if (kind == kW) --here.held;
    if (kind == kB) here.open.emplace_back(static_cast<std::uint8_t>(chunk), number);
    ++here.done[kind][chunk];
    const bool on_first = (kind == kF) == (chunk == 0);
    const std::uint32_t stage = on_first ? rank : shape_.stages - 1 - rank;
    result_.rows[rank].push_back(kind == kF   ? forward(stage, number)
                                 : kind == kB ? input_grad(stage, number)
                                              : weight_grad(stage, number));
  }

  void put_weights(std::uint32_t rank) {
    Rank& here = state_[rank];
    PIPESIM_CHECK(!here.open.empty());
    const std::uint8_t chunk = here.open.front().first;
    here.open.pop_front();
    put(kW, chunk, rank);
  }

  void make_space(std::uint32_t rank) {
    while (state_[rank].held + 1 > most_held_) put_weights(rank);
  }

  void warm_up() {
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) put(kF, 0, rank);
    for (std::uint32_t rank = ranks_; rank-- > 0;) {
      if (rank + 1 < ranks_) fill_until_input(rank);
      put(kF, 1, rank);
    }
    std::uint32_t chunk = 0;
    for (std::uint32_t rank = 1; rank < ranks_; ++rank) {
      const auto behind = [&] {
        const std::uint32_t before = forwards(rank - 1, 1);
        return forwards(rank, 0) + forwards(rank, 1) < forwards(rank - 1, 0) + before ||
               (forwards(rank, 1) <= before && before < count_);
      };
      while (behind()) {
        for (std::uint32_t j = ranks_; j-- > rank;) {
          if (forwards(j, chunk) < count_) put(kF, chunk, j);
        }
        chunk = 1 - chunk;
      }
    }
  }

  // Adds forwards of the first chunk until the first input of the second chunk reaches `rank`.
  void fill_until_input(std::uint32_t rank) {
    const std::int64_t input = end(kF, 1, rank + 1, 0) + shape_.costs.message_ns;
    const auto fits = [&] {
      const Rank& here = state_[rank];
      return here.held + 2 + rank * 2 <= most_held_ && here.time + cost(kF) <= input &&
             here.done[kF][0] < count_;
    };
    while (fits()) {
      for (std::uint32_t j = 0; j <= rank; ++j) put(kF, 0, j);
    }
  }

  void put_backwards() {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> order;  // rank, chunk
    std::vector<std::uint32_t> first;
    std::vector<std::uint32_t> second;
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      const std::uint32_t number = gradients(rank, 1);
      const bool possible = number < gradients(rank, 0);
      const bool is_turn = possible && (rank + 1 == ranks_ || end(kB, 1, rank + 1, number) >= 0 ||
                                        gradients(rank, 0) >= count_);
      (is_turn ? second : first).push_back(rank);
    }
    std::reverse(second.begin(), second.end());
    for (const std::uint32_t rank : second) order.emplace_back(rank, 1);
    for (const std::uint32_t rank : first) order.emplace_back(rank, 0);
    for (const auto& [rank, chunk] : order) {
      fill_bubble(kB, chunk, rank, chunk == 1 || preference_.fill_b);
      put(kB, chunk, rank);
    }
  }

  void put_forward(std::uint32_t rank) {
    if (forwards(rank, 1) >= count_) return;
    const std::optional<std::uint32_t> chunk = next_forward(rank);
    if (!chunk) return;
    make_space(rank);
    fill_bubble(kF, *chunk, rank, preference_.fill_f);
    put(kF, *chunk, rank);
  }

  std::optional<std::uint32_t> next_forward(std::uint32_t rank) {
    if (forwards(rank, 1) >= forwards(rank, 0)) return 0;
    if (rank + 1 == ranks_ || end(kF, 1, rank + 1, forwards(rank, 1)) >= 0) return 1;
    if (forwards(rank, 0) >= count_) return std::nullopt;
    if (rank == 0 || end(kF, 0, rank - 1, forwards(rank, 0)) >= 0) return 0;
    return std::nullopt;
  }

  // Adds weight gradients until the input of the next action is available.
  void fill_bubble(Work kind, std::uint32_t chunk, std::uint32_t rank, bool prefer) {
    Rank& here = state_[rank];
    const auto from = source(chunk, rank);
    // If there is no source, the authors' program uses index -1: the end of the very last weight
    // gradient.
    const std::size_t last = end_.size() - 1;
    const auto input = [&] {
      const std::int64_t there =
          from ? end(kind, chunk, *from, here.done[kind][chunk]) : end_[last];
      return there + shape_.costs.message_ns;
    };
    while (from && !here.open.empty() && input() >= here.time + cost(kW)) put_weights(rank);
    if (!here.open.empty() && prefer && input() - here.time > most_bubble(rank) - here.bubble) {
      put_weights(rank);
    }
  }

  const ScheduleShape& shape_;
  Preference preference_;
  std::vector<std::int64_t> approved_;  // allowed bubbles; empty: none known
  std::int64_t most_approved_ = -1;
  std::uint32_t ranks_;
  std::uint32_t count_;
  std::uint32_t most_held_;
  std::vector<std::int64_t> end_;
  std::vector<Rank> state_;
  Result result_;
};

// Repeats the attempt with its bubbles allowed, as long as the result improves.
Result best_of(const ScheduleShape& shape, Preference preference) {
  Result best = Attempt(shape, preference, {}).run();
  while (true) {
    Result next = Attempt(shape, preference, best.bubbles).run();
    if (next.bubble >= best.bubble) return best;
    best = std::move(next);
  }
}

}  // namespace

std::vector<Actions> zbv_greedy(const ScheduleShape& shape) {
  std::optional<Result> best;
  for (const bool fill_b : {true, false}) {
    for (const bool fill_f : {true, false}) {
      Result result = best_of(shape, {fill_f, fill_b});
      if (!best || result.bubble < best->bubble) best = std::move(result);
    }
  }
  return std::move(best->rows);
}

}  // namespace pipesim::models::schedules
