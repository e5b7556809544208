// A set of ranks, in order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace pipesim::models {

/// Ranks in ascending order, each once.
class RankSet {
 public:
  RankSet() = default;

  /// Sorts and drops repetitions.
  explicit RankSet(std::vector<std::uint32_t> ranks) : ranks_(std::move(ranks)) {
    std::sort(ranks_.begin(), ranks_.end());
    ranks_.erase(std::unique(ranks_.begin(), ranks_.end()), ranks_.end());
  }

  /// The ranks [first, end).
  static RankSet range(std::uint32_t first, std::uint32_t end) {
    RankSet result;
    for (std::uint32_t rank = first; rank < end; ++rank) result.ranks_.push_back(rank);
    return result;
  }

  bool contains(std::uint32_t rank) const {
    return std::binary_search(ranks_.begin(), ranks_.end(), rank);
  }

  bool empty() const { return ranks_.empty(); }
  std::size_t size() const { return ranks_.size(); }
  std::uint32_t operator[](std::size_t i) const { return ranks_[i]; }
  auto begin() const { return ranks_.begin(); }
  auto end() const { return ranks_.end(); }

  friend bool operator==(const RankSet&, const RankSet&) = default;

 private:
  std::vector<std::uint32_t> ranks_;
};

}  // namespace pipesim::models
