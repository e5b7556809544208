// The page of `diff`: the ends of two runs side by side, and their differences.
#pragma once

#include <string>

#include "models/result/explanation.hpp"

#include "features/diff/difference_text.hpp"

namespace pipesim::viz {

/// Returns the page as HTML. `before` and `after` are null for a side read from a report, which has
/// only the names of the cycle.
std::string difference_page(const Difference& difference, const models::Explanation* before,
                            const models::Explanation* after, std::string made_by);

}  // namespace pipesim::viz
