// Numbers that look random and are the same everywhere.
#pragma once

#include <cstdint>

namespace pipesim::sim {

/// What is added to a state for the next number.
inline constexpr std::uint64_t kSplitmixStep = 0x9e3779b97f4a7c15;

/// What splitmix64 makes of a state (Steele, Lea, Flood: "Fast splittable pseudorandom number
/// generators", 2014).
constexpr std::uint64_t splitmix(std::uint64_t state) {
  std::uint64_t z = state + kSplitmixStep;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace pipesim::sim
