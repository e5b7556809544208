// The results of verifying a collective algorithm, as JSON (docs/reference/json.md).
#pragma once

#include <string>

#include "features/algorithm/verify_text.hpp"

namespace pipesim::viz {

/// Returns one JSON object with a line end.
std::string verify_json(const VerifyView& view);

/// Returns the JSON object for an unreadable file, with a line end.
std::string unreadable_json(const std::string& name);

}  // namespace pipesim::viz
