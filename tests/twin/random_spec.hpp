// Small random plans that make sense, about half of which hang.
#pragma once

#include <cstdint>

#include "tests/twin/spec.hpp"

namespace pipesim::twin {

/// The plan of a seed, the same everywhere. What balances by construction: an actor that consumes a
/// register acts a whole number of times per slot. What may hang: credits, streams that are shared,
/// programs and collectives in different orders, members that never come, too few outside items,
/// and, rarely, an edge that closes a ring. Every second seed gives host programs
/// [random_parts.hpp], and every third plan by chance has faults or guards [random_parts.hpp].
Spec random_spec(std::uint64_t seed);

}  // namespace pipesim::twin
