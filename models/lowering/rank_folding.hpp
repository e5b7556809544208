// Which ranks do the same at the same times, so that a few stand for all.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/graph/rank_set.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::models {

/// Some ranks of a job, and for which others each of them stands.
struct RankFolding {
  RankSet kept;
  /// By rank: the first that does the same, which is kept. Beside these, some of their peers are.
  std::vector<std::uint32_t> stands_for;

  /// By rank: how many it stands for, itself among them.
  std::vector<std::uint32_t> copies() const;
};

/// Folds a job of host programs. Ranks are equal if they have the same steps with the same figures,
/// their peers are equal and see them as the same peer, and the lists of their groups have equally
/// many equal ranks: the coarsest equitable partition, by refinement (R. Paige and R. Tarjan,
/// "Three Partition Refinement Algorithms", 1987). Of these ranks so many are kept that each has
/// its peers, and in each of its lists one of each sort.
///
/// If a plan of which timing decides nothing (sim::determinacy_obstacle) completes with the kept
/// ranks alone, the whole one completes, and each rank acts when its kept one does: what an act
/// waits for are acts of the same sorts, whose times the kept ones have. If the kept ones hang, run
/// the whole plan: who waits for whom has names.
///
/// Nothing where that saves little, or where ranks depend on each other in ways that are not looked
/// at: reads, faults, keys that all ranks share. Cost: O(ranks) for each round of the refinement.
std::optional<RankFolding> fold_ranks(const TaskGraph& graph);

}  // namespace pipesim::models
