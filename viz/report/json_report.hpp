// The report of a run as JSON. docs/reference/json.md describes every key.
#pragma once

#include <string>

#include "models/result/why.hpp"
#include "viz/report/report.hpp"

namespace pipesim::viz {

/// Returns one JSON object with a line end, keys in a fixed order, and an indent of two spaces.
/// `by_class`: ranks that are equal except for their numbers share an item of `ranks[]`, which
/// describes the first of these ranks.
std::string json_report(const Report& report, bool by_class = false);

/// Returns the reason that an op is not done, as JSON in the format of json_report().
std::string why_json(const models::Explanation& explanation, const models::Why& why);

}  // namespace pipesim::viz
