// What a sweep over parameters found, as a picture.
#pragma once

#include <string>

#include "viz/text/sweep_text.hpp"

namespace pipesim::viz {

/// SVG: above how many runs do not complete, below how long those take that do (median, and the
/// range from the shortest to the longest), over the first variable whose values are numbers, or
/// else the first; with a line for each combination of the others. Lines differ in colour, marker
/// and dashes.
std::string sweep_plot(const SweepReport& report, const std::string& made_by = {});

}  // namespace pipesim::viz
