// A picture of the results of a parameter sweep.
#pragma once

#include <string>

#include "features/sweep/sweep_text.hpp"

namespace pipesim::viz {

/// Returns an SVG plot with two panels: the share of runs that do not complete, and the times of
/// completed runs (median and range). The x axis is the first variable with numeric values, else
/// the first variable. Each combination of the other variables is a line with its own color, marker
/// and dashes.
std::string sweep_plot(const SweepReport& report, const std::string& made_by = {});

}  // namespace pipesim::viz
