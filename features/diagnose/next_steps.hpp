// Suggested next steps: commands that collect missing evidence, or examine the findings.
#pragma once

#include <string>
#include <vector>

#include "viz/report/styled.hpp"

#include "features/diagnose/diagnosis.hpp"
#include "features/diagnose/evidence.hpp"
#include "features/diagnose/launch_log.hpp"

namespace pipesim::viz {

/// Returns one line per step, the most useful first; empty if nothing is wrong.
std::vector<std::string> next_steps(const models::Evidence& evidence,
                                    const models::Diagnosis& diagnosis);
std::vector<std::string> next_steps(const models::LaunchLogDiagnosis& diagnosis);

/// Returns the last lines of a report, with their heading; empty without steps.
std::string next_text(const std::vector<std::string>& steps, const TextOptions& options);

}  // namespace pipesim::viz
