// The versions of the formats that people write, each raised when a key changes its meaning or
// goes. New keys may come without.
#pragma once

namespace pipesim::formats {

inline constexpr const char* kScenarioSchema = "1";  // `schema` of a scenario
inline constexpr const char* kPatchVersion = "1";    // `patch` of a patch

}  // namespace pipesim::formats
