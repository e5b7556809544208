// Which ranks are copies of each other, and where they stand in the pipeline.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "models/graph/rank_set.hpp"
#include "models/lowering/lowering.hpp"

namespace pipesim::models {

/// Ranks with the same key, in the order of their first ranks: how all pictures and pages fold.
template <typename KeyOf>
std::vector<RankSet> ranks_by_key(const RankSet& ranks, KeyOf key_of) {
  std::map<decltype(key_of(0U)), std::size_t> known;
  std::vector<std::vector<std::uint32_t>> classes;
  for (const std::uint32_t rank : ranks) {
    const auto [found, is_new] = known.try_emplace(key_of(rank), classes.size());
    if (is_new) classes.emplace_back();
    classes[found->second].push_back(rank);
  }
  std::vector<RankSet> result;
  result.reserve(classes.size());
  for (std::vector<std::uint32_t>& of : classes) result.emplace_back(std::move(of));
  return result;
}

/// Those of `ranks` that have the same actors with as many slots and acts, on the same streams, and
/// do the same programs, are one class. In the order of their first ranks. With whom they talk does
/// not matter: copies talk to copies.
std::vector<RankSet> rank_classes(const Lowered& lowered, const RankSet& ranks);

/// How many ranks data pass before they reach each: 0 where they come from nobody. Of two ranks
/// that send to each other the one whose first send stands first in the file is before the other.
/// In a ring, where all come from somebody, 0.
std::vector<std::uint32_t> rank_positions(const Lowered& lowered);

}  // namespace pipesim::models
