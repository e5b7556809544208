// Small random plans that make sense, about half of which hang.
#pragma once

#include <cstdint>

#include "tests/twin/random.hpp"
#include "tests/twin/spec.hpp"

namespace pipesim::twin {

/// The plan of a seed, the same everywhere. What balances by construction: an actor that consumes a
/// register acts a whole number of times per slot. What may hang: credits, streams that are shared,
/// programs and collectives in different orders, members that never come, too few outside items,
/// and, rarely, an edge that closes a ring. Every second seed gives host programs,
/// and every third plan by chance has faults or guards.
Spec random_spec(std::uint64_t seed);

// What it adds to a small plan.

/// Waits for other streams [5.4], and tags that step [9.5], for a plan that has neither.
void add_random_afters(Spec& spec, Random& random);

/// Faults and guards [10]. Times are few and small, so that timers, deaths and ends of acts meet
/// often or miss each other by one.
void add_random_faults(Spec& spec, Random& random);

/// Threads with host programs [9], some of which hang, and what they use. The plan may already have
/// actors. The programs come from one global order of operations, in which all of them could be
/// done; what may hang or mismatch are streams, devices, locks and events that this order does not
/// know, and the few steps that are swapped, dropped or changed afterwards.
void add_random_programs(Spec& spec, Random& random);

}  // namespace pipesim::twin
