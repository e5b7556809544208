// The report of a run as text for people.
#pragma once

#include <string>
#include <vector>

#include "models/explain/explanation.hpp"
#include "viz/report.hpp"

namespace pipesim::viz {

/// A numbered line for each of the waits; after the last, if it `closes` a circle, the first again.
std::string waits_text(const std::vector<models::Wait>& waits, bool closes,
                       const TextOptions& options);

/// Verdict, cycle edge by edge, roots, what to look at, each rank's progress, what else is stuck.
std::string text_report(const Report& report, const TextOptions& options);

/// Of that only what met and does not fit, and the cycle.
std::string hang_text(const Report& report, const TextOptions& options);

/// Of that only what is stuck beside the cycle, and all waits if there are any in the report.
std::string stuck_text(const Report& report, const TextOptions& options);

}  // namespace pipesim::viz
