// What random_spec.hpp adds to a small random plan.
#pragma once

#include "tests/twin/random.hpp"
#include "tests/twin/spec.hpp"

namespace pipesim::twin {

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
