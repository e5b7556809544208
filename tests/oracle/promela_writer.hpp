// Writes the tables of a plan for the SPIN model in tests/oracle/plan.pml, with which SPIN explores
// all interleavings of the plan: docs/explanation/check.md.
#pragma once

#include <string>

#include "sim/plan.hpp"

namespace pipesim::formats {

/// Returns why `plan` cannot be written, as the end of a sentence ("it has ..."); empty if `plan`
/// can be written.
std::string promela_obstacle(const sim::Plan& plan);

/// Returns the tables of `plan`, one per line: a file that the generic model reads at run time. The
/// plan must have no obstacle.
std::string promela_tables(const sim::Plan& plan);

}  // namespace pipesim::formats
