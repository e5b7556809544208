// Classes of identical ranks, and the position of each rank in the pipeline.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "models/graph/rank_set.hpp"
#include "models/lowering/lowering.hpp"

namespace pipesim::models {

/// Returns the ranks grouped by key, sorted by first rank. All pictures and pages fold ranks in
/// this way.
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

/// Groups `ranks` into classes with the same actors, slots, op counts, streams and programs, sorted
/// by first rank. Peers do not matter: equal ranks of two replicas have different peers.
std::vector<RankSet> rank_classes(const Lowered& lowered, const RankSet& ranks);

/// Returns for each rank the number of ranks that data pass before they reach it; 0 if it receives
/// from no rank. If two ranks send to each other, the rank whose first send is earlier in the file
/// comes first. In a ring, where every rank receives, all positions are 0.
std::vector<std::uint32_t> rank_positions(const Lowered& lowered);

}  // namespace pipesim::models
