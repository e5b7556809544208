// The version of JSON reports, which `viz` writes and `formats` reads back.
#pragma once

namespace pipesim::models {

/// Value of `schema` in every report. Increases when a key changes its meaning or disappears, but
/// not for new keys.
inline constexpr int kReportSchema = 1;

}  // namespace pipesim::models
