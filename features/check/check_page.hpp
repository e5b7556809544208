// The text on the page of `check`, which also shows a run.
#pragma once

#include <string>
#include <vector>

#include "viz/page/html_page.hpp"

#include "features/check/check_text.hpp"

namespace pipesim::viz {

/// Returns the text of the page. `steps` describes the interleaving that hangs.
CheckPage check_page(const CheckView& view, std::vector<std::string> steps);

}  // namespace pipesim::viz
