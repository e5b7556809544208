// What the page of `check` says beside the run that it shows.
#pragma once

#include <string>
#include <vector>

#include "viz/html/html_page.hpp"
#include "viz/text/check_text.hpp"

namespace pipesim::viz {

/// `steps`: of the interleaving that hangs, in words.
CheckPage check_page(const CheckView& view, std::vector<std::string> steps);

}  // namespace pipesim::viz
