// Runs a plan without an event queue, where no order in it depends on timing.
//
// In such a plan each thread does a fixed list of acts, each stream is fed by one thread, and what
// acts wait for is settled by counting: the n-th call of each rank, the n-th message, the n-th
// record. So the times of all acts follow from each other by sums and maxima, whatever order they
// are worked out in (a Kahn network; "max-plus"). The sweep goes along each thread's list as far as
// it can, and comes back when what it waited for is known.
//
// It knows how such a plan completes, not how it hangs: where it comes to a halt, the event engine
// has the word. tests/twin/sweep_test.cpp holds the two against each other.
#pragma once

#include <optional>

#include "sim/engine.hpp"
#include "sim/plan.hpp"

namespace pipesim::sim {

/// Why the sweep cannot run `plan`, for people; nullptr if it may.
const char* fixed_order_obstacle(const Plan& plan, const RunOptions& options);

/// What run() gives for a plan that completes, but for Outcome::events. Nothing if it does not
/// complete, acts do not fit together, time ends, or the run is stopped. `plan` has no obstacle.
/// Cost: O(1) per act; 8 bytes for each act that others wait for, and nothing for the others.
std::optional<Outcome> run_in_fixed_order(const Plan& plan, const RunOptions& options);

}  // namespace pipesim::sim
