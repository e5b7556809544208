// A summary of a run in a few sentences: who waits for whom, and what to change.
#pragma once

#include <string>

#include "viz/report/report.hpp"

namespace pipesim::viz {

/// Returns one sentence: who waits for whom, or what failed. Returns an empty text for a run that
/// completed or was stopped.
std::string summary_text(const models::Explanation& explanation);

/// Returns the best of the remedies that were tried, or else where to look next.
std::string advice_text(const Report& report);

}  // namespace pipesim::viz
