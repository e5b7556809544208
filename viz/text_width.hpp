// The width of text in pictures, without a font: pictures are the same on every machine, and
// whoever looks at them has other fonts.
#pragma once

#include <string>
#include <string_view>

namespace pipesim::viz {

/// An upper bound of the width of one line in Helvetica, Arial or Liberation Sans, regular or bold,
/// in the unit of `size`. DejaVu Sans, which is wider, fits in nearly all lines.
double text_width(std::string_view text, double size);

/// `size`, or smaller, but not below `least`, so that `text` is at most `width` wide.
double fitting_size(std::string_view text, double size, double least, double width);

/// `text`, cut so that it is at most `width` wide; empty where not even a few letters are.
std::string fitted(std::string_view text, double size, double width);

}  // namespace pipesim::viz
