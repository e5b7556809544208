// Runs a plan without an event queue, if timing decides no order in it.
//
// In such a plan each thread does a fixed list of acts, each stream is fed by one thread, and
// counting settles what acts wait for: the n-th call of each rank, the n-th message, the n-th
// record. So the times of all acts follow from each other by sums and maxima, whatever the order of
// computation (a Kahn network; "max-plus"). The run follows each thread's list as far as it can and
// returns to it when the time that it waited for is known.
//
// This finds out how such a plan completes, not how it hangs: if it cannot go on, the event engine
// runs the plan. tests/twin/fixed_order_test.cpp compares the two.
#pragma once

#include <optional>

#include "sim/engine.hpp"
#include "sim/plan.hpp"

namespace pipesim::sim {

/// Why `plan` cannot be run in fixed order, for people; nullptr if it can.
const char* fixed_order_obstacle(const Plan& plan, const RunOptions& options);

/// What run() returns for a plan that completes, except for Outcome::events. Nothing if the plan
/// hangs, calls mismatch, time ends, or the run is stopped. `plan` has no obstacle. Cost: O(1) per
/// act, and 8 bytes for each act that others wait for.
std::optional<Outcome> run_in_fixed_order(const Plan& plan, const RunOptions& options);

}  // namespace pipesim::sim
