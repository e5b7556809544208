// Whether the outcome of a plan can depend on timing.
#pragma once

#include "sim/plan.hpp"

namespace pipesim::sim {

/// Why the outcome of `plan` may depend on how long its acts take, for people; nullptr if it does
/// not: then every timing ends the same way, acts meet the same acts, and one run is enough.
///
/// In such a plan each thread does a fixed list of acts, each stream is fed by one thread, and
/// counting settles what acts wait for: the n-th call of each rank, the n-th message, the n-th
/// record, the n-th slot of a register. It is a Kahn network (G. Kahn, "The semantics of a simple
/// language for parallel programming", 1974): what one part does next never depends on which of two
/// others was faster. Cost: O(plan), independent of the number of acts.
const char* determinacy_obstacle(const Plan& plan);

}  // namespace pipesim::sim
