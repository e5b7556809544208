// Reduction of a job to some of its ranks.
#pragma once

#include <optional>

#include "models/graph/rank_set.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::models {

/// Removes all ranks except `kept` from groups, actors, programs and faults, and drops the actors
/// and reads that are then on no rank. The other ranks keep their numbers; a removed rank has
/// nothing to do.
void keep_ranks(TaskGraph& graph, const RankSet& kept);

/// Returns the job with only the ranks of `kept`, renumbered from 0. Returns nullopt if `graph`
/// refers to other ranks (see keep_ranks), or if an expression over the rank would need too many
/// cases.
std::optional<TaskGraph> renumbered_ranks(const TaskGraph& graph, const RankSet& kept);

}  // namespace pipesim::models
