// Small random host programs (docs/reference/rules.md, section 9), some of which hang.
#pragma once

#include "tests/twin/random.hpp"
#include "tests/twin/spec.hpp"

namespace pipesim::twin {

/// Adds threads with programs of steps, and what they use, to a plan that may have actors already.
/// The programs come from one global order of operations, in which all of them could be done; what
/// may hang or not match are streams, devices, locks and events that this order does not know, and
/// the few steps that are swapped, dropped or changed afterwards.
void add_random_programs(Spec& spec, Random& random);

}  // namespace pipesim::twin
