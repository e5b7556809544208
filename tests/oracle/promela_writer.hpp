// Writes the tables of a plan for the SPIN model in tests/oracle/plan.pml, with which SPIN explores
// all interleavings of the plan: docs/explanation/check.md.
#pragma once

#include <string>

#include "sim/plan.hpp"

namespace pipesim::formats {

/// Returns the reason why the model does not cover `plan`, as a clause such as "it has faults or
/// timeouts"; empty if the model covers it. The model itself refuses plans that are too large.
std::string promela_obstacle(const sim::Plan& plan);

/// Returns the tables of `plan`, one per line: a file that the model reads at run time. The plan
/// must have no obstacle.
std::string promela_tables(const sim::Plan& plan);

}  // namespace pipesim::formats
