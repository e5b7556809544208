// Writes a plan as a model for SPIN, which explores all its interleavings:
// docs/explanation/check.md.
//
// The rules are one text, tests/oracle/plan.pml; only the tables differ between plans.
#pragma once

#include <string>

#include "sim/plan.hpp"

namespace pipesim::formats {

/// Returns why `plan` cannot be written, as the end of a sentence ("it has ..."); empty if it can.
std::string promela_obstacle(const sim::Plan& plan);

/// Returns the tables of `plan`, one per line. The generic model reads such a file at run time. The
/// plan must have no obstacle.
std::string promela_tables(const sim::Plan& plan);

}  // namespace pipesim::formats
