// How a run ended in a few sentences: who waits for whom, and what to change.
#pragma once

#include <string>

#include "viz/report.hpp"

namespace pipesim::viz {

/// Who waits for whom, or what broke, in one sentence. Empty of a run that completed or was
/// stopped.
std::string summary_text(const models::Explanation& explanation);

/// What to change: the best of the remedies that were tried, or else where to look.
std::string advice_text(const Report& report);

}  // namespace pipesim::viz
