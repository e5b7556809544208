// Versions of the formats that people write. Each is incremented when a key changes its meaning or
// is removed; new keys need no increment.
#pragma once

namespace pipesim::formats {

inline constexpr const char* kScenarioSchema = "1";  // `schema` of a scenario
inline constexpr const char* kPatchVersion = "1";    // `patch` of a patch

}  // namespace pipesim::formats
