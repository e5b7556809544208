// Excerpts of the user's program for pages.
#pragma once

#include <vector>

#include "viz/report/report.hpp"

namespace pipesim::app {

/// Returns the source around the lines where the ranks of a recorded script part or wait: both
/// sides of the first difference, the calls of the cycle, the mismatched calls, the calls that a
/// rank never joins. Reads Python files below the current folder, and omits lines that it does not
/// find.
std::vector<viz::SourceExcerpt> source_excerpts(const viz::Report& report);

}  // namespace pipesim::app
