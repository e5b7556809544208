// The first difference between the calls of ranks that leads to a mismatched call.
#pragma once

#include <optional>

#include "models/graph/recorded.hpp"

#include "features/record/record.hpp"

namespace pipesim::models {

/// Finds the first call that ranks make from different places, after which their calls on the group
/// differ up to a mismatch. If all calls before the mismatch come from the same places, returns the
/// mismatch itself. Returns nullopt if all recorded calls match.
///
/// Calls from two places can match by design. The two places are partners, and no difference, if
/// three conditions hold:
/// * each place matches only the other;
/// * they match more than once;
/// * neither rank calls from the other's place.
std::optional<FirstDifference> first_difference(const Record& record);

}  // namespace pipesim::models
