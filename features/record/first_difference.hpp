// The first difference between the ranks' calls, if it leads to a mismatched call.
#pragma once

#include <optional>

#include "models/graph/recorded.hpp"

#include "features/record/record.hpp"

namespace pipesim::models {

/// Finds the first call of a group that ranks make from different places, if all their later calls
/// differ up to a mismatch. If the ranks make each call before the mismatch from one place, returns
/// the mismatch itself. Returns nullopt if all recorded calls match.
///
/// Calls from two places can match by design. Two places are partners, and count as no difference,
/// if three conditions hold:
/// * each place matches only the other place;
/// * the two places match more than once;
/// * neither rank calls from the other rank's place.
std::optional<FirstDifference> first_difference(const Record& record);

}  // namespace pipesim::models
