// What a diagnosis tells of calls: each one as an op, those that do not fit, and how far the
// members of groups came.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "models/explain/explanation.hpp"
#include "models/postmortem/collective_match.hpp"
#include "models/postmortem/diagnosis.hpp"
#include "models/postmortem/evidence.hpp"
#include "sim/wait_graph.hpp"

namespace pipesim::models {

/// A call as reports tell ops.
ActInfo call_info(const Evidence& evidence, std::uint32_t rank, const RecordedCall& call);

/// A wait of a graph whose ops `describe` tells.
Wait wait_of(const sim::WaitGraph& graph, const sim::WaitEdge& edge,
             const std::function<ActInfo(sim::ActorId)>& describe);

/// The collectives that do not fit. Sets `groups` of those that they are of.
std::vector<Misfit> find_misfits(const Evidence& evidence,
                                 const std::vector<CollectiveCheck>& checks,
                                 std::vector<bool>& groups);

/// Of each group whose members differ or that has something pending.
std::vector<GroupStanding> group_standings(const Evidence& evidence);

}  // namespace pipesim::models
