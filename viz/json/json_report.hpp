// The report of a run as data. docs/reference/json.md describes every key.
#pragma once

#include <string>

#include "models/explain/why.hpp"
#include "viz/report.hpp"

namespace pipesim::viz {

/// One JSON object with a line end, keys in a fixed order, two spaces of indent. `by_class`: an
/// item of `ranks[]` is of all ranks that would say the same, as the first of them says it.
std::string json_report(const Report& report, bool by_class = false);

/// Likewise why an act is not done.
std::string why_json(const models::Explanation& explanation, const models::Why& why);

}  // namespace pipesim::viz
