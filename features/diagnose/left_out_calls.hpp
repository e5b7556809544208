// Finds calls that only some ranks of a group made, by the lines of the user's program. Numbers
// alone show only that a rank lags.
#pragma once

#include <vector>

#include "models/outside_text.hpp"

#include "features/diagnose/diagnosis.hpp"
#include "features/diagnose/evidence.hpp"

namespace pipesim::models {

/// Returns a sentence for each call that a rank omitted, or made in addition, before the first
/// incomplete or mismatched collective of its group.
std::vector<OutsideText> left_out_calls(const Evidence& evidence, const Diagnosis& diagnosis);

}  // namespace pipesim::models
