// Text in XML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace pipesim::viz {

/// `text` for the content of an element or, if it has no line ends, of an attribute in "quotes":
/// '?' stands for each byte that XML cannot have.
std::string xml_text(std::string_view text);

}  // namespace pipesim::viz
