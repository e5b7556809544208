// Limits on the size of a scenario.
#pragma once

#include <cstdint>

namespace pipesim::formats {

// Limit on the ranks of a job.
inline constexpr std::int64_t kMaxRanks = 1 << 20;
inline constexpr std::int64_t kMaxMicroBatches = 1 << 24;

}  // namespace pipesim::formats
