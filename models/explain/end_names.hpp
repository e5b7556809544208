// The words for how a run ended, and why.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/explain/explanation.hpp"

namespace pipesim::models {

/// The word for a verdict in files, reports and JSON: "deadlock".
std::string verdict_name(sim::Verdict verdict);

/// The verdict of that name.
std::optional<sim::Verdict> find_verdict(const std::string& name);

/// The words for a cause in files, reports and JSON: "dead rank".
std::string cause_name(Cause cause);

/// All causes that a run can have by itself, by name: what find_cause() finds.
const std::vector<std::string>& cause_names();

/// The cause of that name.
std::optional<Cause> find_cause(const std::string& name);

}  // namespace pipesim::models
