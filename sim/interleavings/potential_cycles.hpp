// Whether waits can close a cycle at all.
#pragma once

#include <cstdint>

#include "sim/interleavings/happens_before.hpp"
#include "sim/plan.hpp"

namespace pipesim::sim {

/// What is known of a plan's waits.
enum class PotentialCycles : std::uint8_t {
  kNone,      // no interleaving can hang
  kPossible,  // perhaps; or the search for them was given up
  kUnknown,   // the plan has waits of other kinds
};

/// In a quiescent state each act that is not done waits for another, so some waits form a cycle.
/// This looks for cycles of waits that could exist at one moment, without following any
/// interleaving: each wait is possible, and no two of its acts are in states that exclude each
/// other by `happens_before`. If there is none, the plan is proved, however many interleavings it
/// has. It knows waits for data, credits, the order of streams, collectives, and the creation of
/// communicators. Cost: at most `max_steps` steps.
PotentialCycles potential_cycles(const Plan& plan, const HappensBefore& happens_before,
                                 std::uint64_t max_steps);

}  // namespace pipesim::sim
