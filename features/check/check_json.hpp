// The verdict over all interleavings, as JSON.
#pragma once

#include <string>

#include "features/check/check_text.hpp"

namespace pipesim::viz {

/// Returns the contents of check_text() as one JSON object. docs/reference/json.md describes every
/// key.
std::string check_json(const CheckView& view);

}  // namespace pipesim::viz
