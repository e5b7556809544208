// Text in XML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace pipesim::viz {

/// Escapes `text` for the content of an element. If `text` has no line ends, also for an attribute
/// in "quotes". Replaces each byte that XML cannot contain by '?'.
std::string xml_text(std::string_view text);

}  // namespace pipesim::viz
