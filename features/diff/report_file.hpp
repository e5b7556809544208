// Reads the JSON report of a run (docs/reference/json.md).
#pragma once

#include <optional>
#include <string>

#include "models/graph/diagnostics.hpp"

#include "features/diff/run_difference.hpp"

namespace pipesim::formats {

/// Size limit of a report.
inline constexpr std::size_t kMaxReportBytes = std::size_t{256} << 20;

/// Whether `text` appears to be a report: a JSON object with a key "fingerprint" near the
/// beginning.
bool looks_like_report(const std::string& text);

/// Returns the end of the report's run. Returns nullopt if `text` is not a report; `diagnostics`
/// gets the reason.
std::optional<models::RunEndFigures> read_report(const std::string& text,
                                                 models::Diagnostics& diagnostics);

}  // namespace pipesim::formats
