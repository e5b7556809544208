// Writes the tables of a plan for the SPIN model in tests/oracle/plan.pml, with which SPIN explores
// all interleavings of the plan: docs/explanation/check.md.
#pragma once

#include <string>

#include "sim/plan.hpp"

namespace pipesim::formats {

/// Returns why the model lacks a part of `plan`, as the end of a sentence ("it has ..."); empty if
/// it lacks nothing. The model itself refuses plans that are too large.
std::string promela_obstacle(const sim::Plan& plan);

/// Returns the tables of `plan`, one per line: a file that the model reads at run time. The plan
/// must have no obstacle.
std::string promela_tables(const sim::Plan& plan);

}  // namespace pipesim::formats
