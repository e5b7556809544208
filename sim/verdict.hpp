// The outcome of a run.
#pragma once

#include <cstdint>

namespace pipesim::sim {

/// The verdict of a run. The numbers are part of the fingerprint and never change.
enum class Verdict : std::uint8_t {
  kCompleted = 0,
  kDeadlock = 1,
  kStarved = 2,
  kMismatch = 3,
  kCrashed = 4,
  kLimit = 5,
};

}  // namespace pipesim::sim
