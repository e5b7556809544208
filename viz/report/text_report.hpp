// The report of a run as text for people, and its parts.
#pragma once

#include <string>
#include <vector>

#include "models/result/explanation.hpp"
#include "models/result/why.hpp"
#include "viz/report/report.hpp"
#include "viz/report/styled.hpp"

namespace pipesim::viz {

/// Returns the report: verdict, who waits for whom, what to change; then cycle, roots, progress of
/// each rank, and other stuck ops. `has_lead`: the caller has already printed lead_text().
std::string text_report(const Report& report, const TextOptions& options, bool has_lead = false);

/// Describes the first difference between the calls of a hanging recorded script's ranks. Returns
/// an empty string for any other run.
std::string lead_text(const Report& report, const TextOptions& options);

/// Returns the head and the cycle of the report.
std::string head_text(const Report& report, const TextOptions& options);

/// Returns the mismatched calls and the cycle of the report.
std::string hang_text(const Report& report, const TextOptions& options);

/// Returns the part of the report about ops stuck outside the cycle, followed by the list of all
/// waits if the report has this list.
std::string stuck_text(const Report& report, const TextOptions& options);

/// Returns one sentence: who waits for whom, or what failed. Returns an empty string for a run that
/// completed or was stopped.
std::string summary_text(const models::Explanation& explanation);

/// Returns the best of the remedies that were tried, or else where to look next.
std::string advice_text(const Report& report);

/// Returns a numbered stanza per wait. If `cycle`, the last wait leads back to wait 1. With `fold`,
/// a series of waits that differ only in their ranks shows only its first and last.
std::string waits_text(const std::vector<models::Wait>& waits, bool cycle, bool fold,
                       const TextOptions& options);

std::string why_text(const models::Explanation& explanation, const models::Why& why,
                     const TextOptions& options);

}  // namespace pipesim::viz
