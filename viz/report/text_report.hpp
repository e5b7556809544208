// The report of a run as text for people.
#pragma once

#include <string>

#include "viz/report/report.hpp"

namespace pipesim::viz {

/// Returns the report: verdict, who waits for whom, what to change; then cycle, roots, progress of
/// each rank, and other stuck ops. `has_lead`: the caller has already printed lead_text().
std::string text_report(const Report& report, const TextOptions& options, bool has_lead = false);

/// Describes the first difference between the calls of a hanging recorded script's ranks. Returns
/// an empty text for any other run.
std::string lead_text(const Report& report, const TextOptions& options);

/// Returns the head and the cycle of the report.
std::string head_text(const Report& report, const TextOptions& options);

/// Returns the mismatched calls and the cycle of the report.
std::string hang_text(const Report& report, const TextOptions& options);

/// Returns the part of the report about ops stuck outside the cycle, followed by the list of all
/// waits if the report has this list.
std::string stuck_text(const Report& report, const TextOptions& options);

}  // namespace pipesim::viz
