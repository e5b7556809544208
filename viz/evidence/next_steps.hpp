// What to do next: the command that gets the evidence that is missing, or looks at what was found.
#pragma once

#include <string>
#include <vector>

#include "models/postmortem/diagnosis.hpp"
#include "models/postmortem/evidence.hpp"

namespace pipesim::viz {

/// One line each, the most useful first; empty where nothing is wrong.
std::vector<std::string> next_steps(const models::Evidence& evidence,
                                    const models::Diagnosis& diagnosis);

}  // namespace pipesim::viz
