// The report of a run as data. docs/json.md describes every key.
#pragma once

#include <string>

#include "viz/text_report.hpp"

namespace pipesim::viz {

/// One JSON object with a line end, keys in a fixed order, two spaces of indent.
std::string json_report(const Report& report);

}  // namespace pipesim::viz
