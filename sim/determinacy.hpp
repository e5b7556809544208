// Whether it can matter how long things take.
#pragma once

#include "sim/plan.hpp"

namespace pipesim::sim {

/// Why the outcome of `plan` may depend on how long its acts take, for people; nullptr if it does
/// not: then every timing has the same end, acts meet the same acts, and one run shows all.
///
/// In such a plan each thread does a fixed list of acts, each stream is fed by one thread, and what
/// acts wait for is settled by counting: the n-th call of each rank, the n-th message, the n-th
/// record, the n-th slot of a register. It is a Kahn network (G. Kahn, "The semantics of a simple
/// language for parallel programming", 1974): what one part does next never depends on which of two
/// others was faster. Cost: O(plan), not of its acts.
const char* determinacy_obstacle(const Plan& plan);

}  // namespace pipesim::sim
