// Limits on the size of a scenario.
#pragma once

#include <cstdint>

namespace pipesim::formats {

// Limits on the numbers of ranks and micro-batches of a job.
inline constexpr std::int64_t kMaxRanks = 1 << 20;
inline constexpr std::int64_t kMaxMicroBatches = 1 << 24;

}  // namespace pipesim::formats
