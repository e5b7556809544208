// A sorted set of ranks.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <utility>
#include <vector>

namespace pipesim::models {

/// Ranks in ascending order, without duplicates. Copies share their storage: all steps of a program
/// are on the same ranks, possibly a hundred thousand.
class RankSet {
 public:
  RankSet() = default;
  RankSet(const RankSet& other) : held_(other.held_) {
    if (held_ != nullptr) held_->users.fetch_add(1, std::memory_order_relaxed);
  }
  RankSet(RankSet&& other) noexcept : held_(std::exchange(other.held_, nullptr)) {}
  RankSet& operator=(RankSet other) noexcept {
    std::swap(held_, other.held_);
    return *this;
  }
  ~RankSet() {
    if (held_ == nullptr || held_->users.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    delete held_;
  }

  /// Sorts `ranks` and drops duplicates.
  explicit RankSet(std::vector<std::uint32_t> ranks) {
    if (!std::is_sorted(ranks.begin(), ranks.end())) std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    hold(std::move(ranks));
  }

  /// Returns the ranks [first, end).
  static RankSet range(std::uint32_t first, std::uint32_t end) {
    std::vector<std::uint32_t> ranks(end > first ? end - first : 0);
    std::iota(ranks.begin(), ranks.end(), first);
    RankSet result;
    result.hold(std::move(ranks));
    return result;
  }

  bool contains(std::uint32_t rank) const { return std::binary_search(begin(), end(), rank); }

  bool empty() const { return held_ == nullptr; }
  std::size_t size() const { return empty() ? 0 : held_->ranks.size(); }
  std::uint32_t operator[](std::size_t i) const { return held_->ranks[i]; }
  const std::uint32_t* begin() const { return empty() ? nullptr : held_->ranks.data(); }
  const std::uint32_t* end() const { return begin() + size(); }

  friend bool operator==(const RankSet& a, const RankSet& b) {
    return a.held_ == b.held_ || std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  struct Held {
    explicit Held(std::vector<std::uint32_t> of) : ranks(std::move(of)) {}

    std::vector<std::uint32_t> ranks;
    std::atomic<std::size_t> users = 1;
  };

  void hold(std::vector<std::uint32_t> ranks) {
    if (!ranks.empty()) held_ = new Held(std::move(ranks));
  }

  // A std::shared_ptr would double the size of this member in each actor and each read.
  Held* held_ = nullptr;  // null: the empty set
};

/// Returns the intersection of `a` and `b`.
inline RankSet both(const RankSet& a, const RankSet& b) {
  if (a == b) return a;
  std::vector<std::uint32_t> ranks;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(ranks));
  return RankSet(std::move(ranks));
}

/// Whether `a` and `b` have a rank in common.
inline bool meet(const RankSet& a, const RankSet& b) {
  const bool a_is_smaller = a.size() < b.size();
  const RankSet& smaller = a_is_smaller ? a : b;
  const RankSet& larger = a_is_smaller ? b : a;
  return std::any_of(smaller.begin(), smaller.end(),
                     [&](std::uint32_t rank) { return larger.contains(rank); });
}

/// The numbers first, first + step, ..., last.
struct RankRun {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::uint32_t step = 1;
};

/// Splits `numbers`, a RankSet or an ascending vector, into few runs of equal steps. Two numbers
/// that are not adjacent do not form a run, because the second one can start a longer run.
template <typename Numbers>
std::vector<RankRun> runs_of(const Numbers& numbers) {
  std::vector<RankRun> runs;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    const std::uint32_t step = end < numbers.size() ? numbers[end] - numbers[i] : 1;
    while (end < numbers.size() && numbers[end] - numbers[end - 1] == step) ++end;
    if (end - i < 3 && step > 1) end = i + 1;
    runs.push_back({numbers[i], numbers[end - 1], end - i > 1 ? step : 1});
    i = end;
  }
  return runs;
}

}  // namespace pipesim::models
