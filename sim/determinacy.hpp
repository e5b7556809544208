// A test whether the outcome of a plan can depend on timing.
#pragma once

#include "sim/plan.hpp"

namespace pipesim::sim {

/// Returns a reason, for messages, why the outcome of `plan` can depend on durations; nullptr if
/// there is no reason. In that case every timing ends in the same way and matches the same ops, so
/// one run is enough.
///
/// In a plan without such a reason, each thread runs a fixed list of ops, one thread feeds each
/// stream, and every wait is for something counted: the n-th call of a rank, or the n-th message,
/// record or slot of a register. The plan is a Kahn network (G. Kahn, "The semantics of a simple
/// language for parallel programming", 1974): the next step of one part never depends on which of
/// two other parts was faster. Cost: O(plan), independent of the number of ops.
const char* determinacy_obstacle(const Plan& plan);

}  // namespace pipesim::sim
