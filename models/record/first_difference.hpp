// Where the calls of the ranks begin to differ, before a call that does not match.
#pragma once

#include <optional>

#include "models/graph/recorded.hpp"
#include "models/record/record.hpp"

namespace pipesim::models {

/// The first call that ranks make from different places, and after which their calls on this group
/// differ up to one that does not match: that call itself, if all before it come from the same
/// places. Nothing if all calls match, as far as they are recorded.
///
/// Calls of different places can be meant to meet. So two places are no difference if each meets
/// only the other, more than once, and neither of the two ranks calls from the other's place.
std::optional<FirstDifference> first_difference(const Record& record);

}  // namespace pipesim::models
