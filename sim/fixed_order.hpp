// Runs plans in which timing decides no order, without an event queue.
//
// In such a plan each thread runs a fixed list of ops, one thread feeds each stream, and every wait
// is for something counted: the n-th call of a rank, or the n-th message or record. So the times of
// all ops follow from one another by sums and maxima, in any order of computation (a Kahn network;
// "max-plus"). The run follows each thread's list until a time is unknown, and returns to the list
// once the time is known.
//
// This run computes how such a plan completes, not how it hangs: if it cannot continue, the event
// engine runs the plan. tests/twin/fixed_order_test.cpp compares this run with the event engine.
#pragma once

#include <optional>

#include "sim/engine.hpp"
#include "sim/plan.hpp"

namespace pipesim::sim {

/// Returns the reason, for messages, why `plan` cannot run in fixed order; nullptr if it can.
const char* fixed_order_obstacle(const Plan& plan, const RunOptions& options);

/// Returns the result of run() for a plan that completes, except for Outcome::events. Returns
/// nullopt if the plan hangs, calls mismatch, simulated time ends, or the run is stopped. `plan`
/// must have no obstacle. Cost: O(1) per op, and 8 bytes for each op that other ops wait for.
std::optional<Outcome> run_in_fixed_order(const Plan& plan, const RunOptions& options);

}  // namespace pipesim::sim
