// Functions for the calls in a diagnosis: each call as an op, the mismatched calls, and the
// progress of the members of each group.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "models/result/explanation.hpp"
#include "sim/wait_graph.hpp"

#include "features/diagnose/collective_match.hpp"
#include "features/diagnose/diagnosis.hpp"
#include "features/diagnose/evidence.hpp"

namespace pipesim::models {

/// Converts a call to the op that reports show.
OpInfo call_info(const Evidence& evidence, std::uint32_t rank, const RecordedCall& call);

/// Converts an edge of the wait graph to a wait. `describe` returns the op of an actor.
Wait wait_of(const sim::WaitGraph& graph, const sim::WaitEdge& edge,
             const std::function<OpInfo(sim::ActorId)>& describe);

/// Returns the mismatched collectives. Sets groups[g] for each group g of these collectives.
std::vector<Misfit> find_misfits(const Evidence& evidence,
                                 const std::vector<CollectiveCheck>& checks,
                                 std::vector<bool>& groups);

/// Sets the members of default groups to all ranks of the job if the evidence does not list them.
/// Requires complete evidence.
void fill_default_groups(Evidence& evidence);

/// Marks a call as pending if it is over on its rank but another member has not made it, because
/// such a call cannot be done. Returns notes about these calls.
std::vector<OutsideText> reopen_failed_calls(Evidence& evidence);

/// Returns the progress of each group whose members differ or that has pending calls.
std::vector<GroupStanding> group_standings(const Evidence& evidence);

}  // namespace pipesim::models
