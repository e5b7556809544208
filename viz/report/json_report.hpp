// The report of a run as JSON. docs/reference/json.md describes every key.
#pragma once

#include <string>

#include "models/result/why.hpp"
#include "viz/report/report.hpp"

namespace pipesim::viz {

/// Returns one JSON object with a line end, keys in a fixed order, and an indent of two spaces.
/// `by_class`: ranks that differ in nothing else share an item of `ranks[]`, which describes the
/// first of them.
std::string json_report(const Report& report, bool by_class = false);

/// Returns the reason that an op is not done, in the same format.
std::string why_json(const models::Explanation& explanation, const models::Why& why);

}  // namespace pipesim::viz
