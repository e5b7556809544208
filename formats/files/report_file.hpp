// The JSON report of a run (docs/reference/json.md), read back.
#pragma once

#include <optional>
#include <string>

#include "models/graph/diagnostics.hpp"
#include "models/measure/run_difference.hpp"

namespace pipesim::formats {

/// Larger reports are refused.
inline constexpr std::size_t kMaxReportBytes = std::size_t{256} << 20;

/// What kinds of file describe a run.
enum class RunFile : std::uint8_t { kScenario, kState, kReport };

/// What `text` seems to be. Nothing is checked but the names of its first keys.
RunFile run_file_kind(const std::string& text);

/// How the run of the report ended. Nothing where `text` is no report; `diagnostics` says why.
std::optional<models::RunEndFigures> read_report(const std::string& text,
                                                 models::Diagnostics& diagnostics);

}  // namespace pipesim::formats
