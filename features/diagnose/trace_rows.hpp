// Reads the table of `torchfrtrace -j`: the calls of each rank in a column. With `-v`, each call
// has its group and its number.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "features/diagnose/debug_page.hpp"

namespace pipesim::formats {

/// Whether `text` is, or has, such a table.
bool has_trace_rows(std::string_view text);

/// Returns a Flight Recorder dump, as JSON, for each column of the table.
std::vector<DebugPagePart> dumps_of_trace_rows(std::string_view text);

}  // namespace pipesim::formats
