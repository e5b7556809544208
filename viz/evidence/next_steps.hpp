// What to do next: the command that gets the evidence that is missing, or looks at what was found.
#pragma once

#include <string>
#include <vector>

#include "models/postmortem/diagnosis.hpp"
#include "models/postmortem/evidence.hpp"
#include "models/postmortem/launch_log.hpp"
#include "viz/styled.hpp"

namespace pipesim::viz {

/// One line each, the most useful first; empty where nothing is wrong.
std::vector<std::string> next_steps(const models::Evidence& evidence,
                                    const models::Diagnosis& diagnosis);
std::vector<std::string> next_steps(const models::LaunchLogDiagnosis& diagnosis);

/// The last lines of a report, with their heading; empty without steps.
std::string next_text(const std::vector<std::string>& steps, const TextOptions& options);

}  // namespace pipesim::viz
