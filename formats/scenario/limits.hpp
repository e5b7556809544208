// How large a scenario may be.
#pragma once

#include <cstdint>

namespace pipesim::formats {

// Larger jobs are refused.
inline constexpr std::int64_t kMaxRanks = 1 << 20;
inline constexpr std::int64_t kMaxMicroBatches = 1 << 24;

}  // namespace pipesim::formats
