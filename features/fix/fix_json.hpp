// The changes that remove a hang, as JSON.
#pragma once

#include <string>

#include "features/fix/fix_text.hpp"

namespace pipesim::viz {

/// Returns one JSON object with a line end. docs/reference/json.md describes every key.
std::string fix_json(const models::FixReport& report, const FixView& view);

}  // namespace pipesim::viz
