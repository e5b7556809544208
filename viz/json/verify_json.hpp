// What was proved or refuted of a collective algorithm, as data (docs/reference/json.md).
#pragma once

#include <string>

#include "viz/text/verify_text.hpp"

namespace pipesim::viz {

/// One JSON object with a line end.
std::string verify_json(const VerifyView& view);

/// The same for a file that could not be read.
std::string unreadable_json(const std::string& name);

}  // namespace pipesim::viz
