// Calls that only some ranks of a group made, found by the lines of the user's program: numbers
// alone show only that a rank is behind.
#pragma once

#include <vector>

#include "models/outside_text.hpp"

#include "features/diagnose/diagnosis.hpp"
#include "features/diagnose/evidence.hpp"

namespace pipesim::models {

/// Returns a sentence for each call that a rank left out, or made in addition, before the first
/// incomplete or mismatched collective of its group.
std::vector<OutsideText> left_out_calls(const Evidence& evidence, const Diagnosis& diagnosis);

}  // namespace pipesim::models
