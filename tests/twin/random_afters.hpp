// Random waits for other streams [5.4], and tags that step [9.5], for a plan that has neither.
#pragma once

#include "tests/twin/random.hpp"
#include "tests/twin/spec.hpp"

namespace pipesim::twin {

void add_random_afters(Spec& spec, Random& random);

}  // namespace pipesim::twin
