// Text widths in pictures, computed without a font: pictures are the same on every machine, and
// viewers have different fonts.
#pragma once

#include <string>
#include <string_view>

namespace pipesim::viz {

/// Returns an upper bound of the width of one line in Helvetica, Arial or Liberation Sans, regular
/// or bold, in the unit of `size`. DejaVu Sans is wider, but the bound also holds for nearly all
/// lines in it.
double text_width(std::string_view text, double size);

/// Returns `size`, reduced as far as `least` if necessary, so that `text` is at most `width` wide.
double fitting_size(std::string_view text, double size, double least, double width);

/// Returns `text`, cut to at most `width`; empty if not even a few letters fit.
std::string fitted(std::string_view text, double size, double width);

}  // namespace pipesim::viz
