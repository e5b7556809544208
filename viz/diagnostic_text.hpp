// Mistakes in a file as text: place, message, the line and a caret, what to do.
#pragma once

#include <string>
#include <string_view>

#include "models/diagnostics.hpp"

namespace pipesim::viz {

/// How many mistakes are shown; the rest is only counted.
inline constexpr std::size_t kMostDiagnostics = 20;

/// All of `diagnostics`, in the order of places. `path` names the file and `text` is what it holds.
std::string diagnostic_text(const models::Diagnostics& diagnostics, std::string_view path,
                            std::string_view text, bool colour);

}  // namespace pipesim::viz
