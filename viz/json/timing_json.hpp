// The times of collective algorithms as JSON: docs/reference/json.md.
#pragma once

#include <string>

#include "viz/text/timing_text.hpp"

namespace pipesim::viz {

/// Returns one object with a line end, including the whole critical path.
std::string timing_json(const TimingView& view);
std::string comparison_json(const TimingComparison& comparison);

}  // namespace pipesim::viz
