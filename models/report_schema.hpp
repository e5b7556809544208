// The version of JSON reports, which `viz` writes and `formats` reads back.
#pragma once

namespace pipesim::models {

/// What every report has as `schema`: raised when a key of one changes its meaning or goes. New
/// keys may come without.
inline constexpr int kReportSchema = 1;

}  // namespace pipesim::models
