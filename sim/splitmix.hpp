// Pseudorandom numbers that are the same on every machine.
#pragma once

#include <cstdint>

namespace pipesim::sim {

/// The increment from one state to the next.
inline constexpr std::uint64_t kSplitmixStep = 0x9e3779b97f4a7c15;

/// Returns the output of splitmix64 for a state (Steele, Lea, Flood: "Fast splittable pseudorandom
/// number generators", 2014).
constexpr std::uint64_t splitmix(std::uint64_t state) {
  std::uint64_t z = state + kSplitmixStep;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace pipesim::sim
