// The calls in a diagnosis: each call as an op, the mismatched calls, and the progress of the
// members of each group.
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

/// Converts an edge of the wait graph to a wait; `describe` returns the op of an actor.
Wait wait_of(const sim::WaitGraph& graph, const sim::WaitEdge& edge,
             const std::function<OpInfo(sim::ActorId)>& describe);

/// Returns the mismatched collectives. Sets groups[g] for each group g of these collectives.
std::vector<Misfit> find_misfits(const Evidence& evidence,
                                 const std::vector<CollectiveCheck>& checks,
                                 std::vector<bool>& groups);

/// Gives the default groups whose members the evidence does not list all ranks of the job. Call it
/// when all evidence is there.
void fill_default_groups(Evidence& evidence);

/// Marks calls as pending that are over on their rank, but that another member has not made: such a
/// call cannot be done. Returns notes about them.
std::vector<OutsideText> reopen_failed_calls(Evidence& evidence);

/// Returns the progress of each group whose members differ or that has pending calls.
std::vector<GroupStanding> group_standings(const Evidence& evidence);

}  // namespace pipesim::models
