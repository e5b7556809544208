// The reduction of a hanging job: the steps taken, and the resulting scenario.
#pragma once

#include <string>

#include "viz/report/section.hpp"

#include "features/reduce/reduce.hpp"

namespace pipesim::viz {

/// Returns the comment lines at the head of the reduced scenario. `name` is the name of the
/// original scenario.
std::string reduce_heading(const models::Reduction& reduction, const std::string& name);

/// Returns the `expect:` section of the reduced scenario, with its line end.
std::string reduce_expectation(const models::Reduction& reduction);

/// Returns the report. docs/reference/json.md describes every key of its data.
Section reduce_report(const models::Reduction& reduction, const std::string& name);

}  // namespace pipesim::viz
