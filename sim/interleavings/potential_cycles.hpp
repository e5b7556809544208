// A search for potential cycles of waits.
#pragma once

#include <cstdint>

#include "sim/interleavings/happens_before.hpp"
#include "sim/plan.hpp"

namespace pipesim::sim {

/// The result of the search for cycles of waits.
enum class PotentialCycles : std::uint8_t {
  kNone,      // no interleaving can hang
  kPossible,  // a cycle may be possible, or the search was given up
  kUnknown,   // the plan has kinds of waits that the search does not model
};

/// Searches for cycles of waits that could exist at one moment, without following any interleaving.
/// In a quiescent state each unfinished op waits for another, so some waits form a cycle. Each wait
/// of a potential cycle must be possible, and no two of its ops may be in states that exclude each
/// other by `happens_before`. Without such a cycle the plan is proved, however many interleavings
/// it has.
///
/// The search models waits for data, credits, stream order, collectives, and communicator init.
/// Cost: at most `max_steps` steps.
PotentialCycles potential_cycles(const Plan& plan, const HappensBefore& happens_before,
                                 std::uint64_t max_steps);

}  // namespace pipesim::sim
