// Folding of ranks that run the same ops at the same times: a few ranks represent all.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/graph/rank_set.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::models {

/// The kept ranks of a job, and the representative of each rank.
struct RankFolding {
  RankSet kept;
  /// The representative of each rank: the first rank that behaves the same, which is in `kept`.
  /// `kept` also contains some peers of representatives.
  std::vector<std::uint32_t> stands_for;

  /// Returns for each rank the number of ranks that it represents, including itself.
  std::vector<std::uint32_t> copies() const;
};

/// Folds a job of host programs. Two ranks are equal if they have the same steps with the same
/// figures. In addition, their peers must be equal, each rank must have the same index among the
/// peers of its peer, and the lists of their groups must have the same number of ranks per class.
/// The classes are the coarsest equitable partition, found by refinement (R. Paige and R. Tarjan,
/// "Three Partition Refinement Algorithms", 1987). The kept ranks include the peers of each kept
/// rank, and one rank of each class in each of its lists.
///
/// Assume that timing decides nothing in the plan (sim::determinacy_obstacle). If the kept ranks
/// complete on their own, the whole plan completes, and each rank acts at the times of its
/// representative. The reason: an op waits only for ops of the same classes, whose times the kept
/// ranks have. If the kept ranks hang, run the whole plan, because reports must name the blocked
/// ranks.
///
/// Returns nullopt if folding saves little, or if ranks depend on each other in unsupported ways:
/// reads, faults, keys that all ranks share. Cost: O(ranks) per round of the refinement.
std::optional<RankFolding> fold_ranks(const TaskGraph& graph);

}  // namespace pipesim::models
