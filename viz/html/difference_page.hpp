// The page of `diff`: how both runs end, side by side, and what moved.
#pragma once

#include <string>

#include "models/explain/explanation.hpp"
#include "viz/text/difference_text.hpp"

namespace pipesim::viz {

/// The page as HTML. `before` and `after`: null of a side that is a report, of which only the names
/// of the cycle are known.
std::string difference_page(const Difference& difference, const models::Explanation* before,
                            const models::Explanation* after, std::string made_by);

}  // namespace pipesim::viz
