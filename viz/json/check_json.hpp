// The verdict over all orders, as data.
#pragma once

#include <string>

#include "viz/text/check_text.hpp"

namespace pipesim::viz {

/// What check_text() says as one JSON object; docs/reference/json.md describes every key.
std::string check_json(const CheckView& view);

}  // namespace pipesim::viz
