// How long collective algorithms take, as JSON: docs/reference/json.md.
#pragma once

#include <string>

#include "viz/text/timing_text.hpp"

namespace pipesim::viz {

/// One object with a line end, with the whole critical path.
std::string timing_json(const TimingView& view);
std::string comparison_json(const TimingComparison& comparison);

}  // namespace pipesim::viz
