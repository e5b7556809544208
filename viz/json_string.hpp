// Strings in JSON that is written by hand, where a tree of values would be too slow.
#pragma once

#include <string>
#include <string_view>

namespace pipesim::viz {

/// The text between quotes, with what JSON wants escaped; what is no UTF-8 becomes U+FFFD.
std::string json_string(std::string_view text);

}  // namespace pipesim::viz
