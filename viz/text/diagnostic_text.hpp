// Mistakes in a file as text: place, message, the line and a caret, what to do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/graph/diagnostics.hpp"

namespace pipesim::viz {

/// How many mistakes are shown; the rest is only counted.
inline constexpr std::size_t kMaxDiagnostics = 20;

/// A file that places are in.
struct SourceText {
  std::string_view path;
  std::string_view text;
};

/// All of `diagnostics`, in the order of files and places. `sources` are the files, by the number
/// that places have of them: at least one.
std::string diagnostic_text(const models::Diagnostics& diagnostics,
                            const std::vector<SourceText>& sources, bool colour);

/// All of `diagnostics`, in the order of places. `path` names the file and `text` is what it holds.
std::string diagnostic_text(const models::Diagnostics& diagnostics, std::string_view path,
                            std::string_view text, bool colour);

}  // namespace pipesim::viz
