// Small random plans that make sense; about half of them hang.
#pragma once

#include <cstdint>

#include "tests/twin/random.hpp"
#include "tests/twin/spec.hpp"

namespace pipesim::twin {

/// Returns the plan of a seed, identical on every platform. Rates balance by construction: a
/// consumer runs a whole number of ops per slot. Possible causes of a hang are credits, shared
/// streams, programs and collectives in different orders, missing members, too few outside items
/// and, rarely, an edge that closes a ring. Every second seed has host programs, and a random third
/// of the plans has faults or timeouts.
Spec random_spec(std::uint64_t seed);

// Parts that random_spec() adds to a small plan.

/// Adds waits for other streams [5.4], and tags that step [9.5], to a plan without either.
void add_random_afters(Spec& spec, Random& random);

/// Adds faults and timeouts [10]. Times are few and small, so that timers, deaths and ends of ops
/// often coincide, or miss each other by one.
void add_random_faults(Spec& spec, Random& random);

/// Adds threads with host programs [9], and the devices, events and locks that they use. Some of
/// the programs hang. The plan may already have actors. The programs come from one global order of
/// operations, which can always be completed. Hangs and mismatches come from streams, devices,
/// locks and events, which this order ignores, and from the few steps that are swapped, dropped or
/// changed afterwards.
void add_random_programs(Spec& spec, Random& random);

}  // namespace pipesim::twin
