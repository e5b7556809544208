// The report of a run as text for people.
#pragma once

#include <string>

#include "viz/report.hpp"

namespace pipesim::viz {

/// Whether it finishes, who waits for whom, what to change; then the cycle, roots, how far each
/// rank came, what else is stuck. `has_lead`: the text before it has shown lead_text().
std::string text_report(const Report& report, const TextOptions& options, bool has_lead = false);

/// Of a recorded script that hangs: where the calls of its ranks begin to differ. May be empty.
std::string lead_text(const Report& report, const TextOptions& options);

/// Of that only the head and the cycle.
std::string head_text(const Report& report, const TextOptions& options);

/// Of that only mismatched calls and the cycle.
std::string hang_text(const Report& report, const TextOptions& options);

/// Of that only what is stuck beside the cycle, and all waits if there are any in the report.
std::string stuck_text(const Report& report, const TextOptions& options);

}  // namespace pipesim::viz
