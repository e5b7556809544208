// A plan as a model for SPIN, which explores all its orders: docs/explanation/check.md.
//
// The rules are one text, formats/promela/plan.pml; what differs from plan to plan are its tables.
#pragma once

#include <string>
#include <string_view>

#include "sim/plan.hpp"

namespace pipesim::formats {

/// Why `plan` cannot be written, in words that end a sentence ("it has ..."); empty if it can.
std::string promela_obstacle(const sim::Plan& plan);

/// The tables of `plan`, a line each. The generic model reads such a file at run time. The plan
/// must have no obstacle.
std::string promela_tables(const sim::Plan& plan);

/// The tables of `plan` and the rules: a file that `spin -a` takes by itself. In it the assertion
/// at the end is violated if and only if the plan can come to rest with work left, or with calls
/// that do not fit. The plan must
/// have no obstacle.
std::string write_promela(const sim::Plan& plan);

/// The rules alone: the generic model.
std::string_view promela_rules();

}  // namespace pipesim::formats
