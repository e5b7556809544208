// Faults and guards for small random plans (docs/reference/rules.md, section 10).
#pragma once

#include "tests/twin/random.hpp"
#include "tests/twin/spec.hpp"

namespace pipesim::twin {

/// Adds some to a finished plan. Times are few and small, so that timers, deaths and ends of acts
/// meet often or miss each other by one.
void add_random_faults(Spec& spec, Random& random);

}  // namespace pipesim::twin
