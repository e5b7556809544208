// From the engine's plan to the twin's: for plans that the random generator did not make.
#pragma once

#include "sim/plan.hpp"
#include "tests/twin/spec.hpp"

namespace pipesim::twin {

/// The same plan in the twin's words.
Spec from_plan(const sim::Plan& plan);

}  // namespace pipesim::twin
