// Errors in a file as text: place, message, the line with a caret, and help.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/graph/diagnostics.hpp"

namespace pipesim::viz {

/// Maximum number of errors shown; further errors are only counted.
inline constexpr std::size_t kMaxDiagnostics = 20;

/// A source file, to which the places of diagnostics refer.
struct SourceText {
  std::string_view path;
  std::string_view text;
};

/// Returns all of `diagnostics`, sorted by file and place. `sources` are the files, indexed by the
/// file number of a place; at least one.
std::string diagnostic_text(const models::Diagnostics& diagnostics,
                            const std::vector<SourceText>& sources, bool colour);

/// Returns all of `diagnostics`, sorted by place. `path` is the name of the file and `text` its
/// contents.
std::string diagnostic_text(const models::Diagnostics& diagnostics, std::string_view path,
                            std::string_view text, bool colour);

}  // namespace pipesim::viz
