// A job with some of its ranks taken out.
#pragma once

#include <optional>

#include "models/graph/rank_set.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::models {

/// Takes all but the ranks of `kept` out of groups, actors, programs and faults, with the actors
/// and reads that are on no rank then. Ranks keep their numbers: those that are out have nothing to
/// do.
void keep_ranks(TaskGraph& graph, const RankSet& kept);

/// The same job with only the ranks of `kept`, numbered from 0. Nothing where `graph` refers to
/// others (see keep_ranks), or has an expression over the rank that would not be shorter than a
/// page.
std::optional<TaskGraph> renumbered_ranks(const TaskGraph& graph, const RankSet& kept);

}  // namespace pipesim::models
