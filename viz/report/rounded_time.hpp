// Times in pictures.
#pragma once

#include <cstdint>
#include <string>

namespace pipesim::viz {

/// Formats a time rounded to three significant digits: "193 ms", "20.3 ms", "0".
std::string rounded_time_text(std::int64_t ns);

}  // namespace pipesim::viz
