// Names of verdicts and causes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/result/explanation.hpp"

namespace pipesim::models {

/// Returns the name of a verdict in files, reports and JSON: "deadlock".
std::string verdict_name(sim::Verdict verdict);

/// Returns the verdict with this name; nullopt if unknown.
std::optional<sim::Verdict> find_verdict(const std::string& name);

/// Returns the name of a cause in files, reports and JSON: "dead rank".
std::string cause_name(Cause cause);

/// Returns the names that find_cause() accepts: all causes except requests of the user.
const std::vector<std::string>& cause_names();

/// Returns the cause with this name; nullopt if unknown.
std::optional<Cause> find_cause(const std::string& name);

}  // namespace pipesim::models
