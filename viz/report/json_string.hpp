// JSON strings for hand-written JSON; a tree of values would be too slow.
#pragma once

#include <string>
#include <string_view>

namespace pipesim::viz {

/// Returns `text` in quotes, escaped for JSON. Invalid UTF-8 becomes U+FFFD.
std::string json_string(std::string_view text);

}  // namespace pipesim::viz
