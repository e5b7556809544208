// The fingerprint of a run: a number that pins what was simulated, not how
// (docs/reference/rules.md, 8).
#pragma once

#include <cstdint>

#include "sim/ids.hpp"
#include "sim/time.hpp"

namespace pipesim::sim {

/// How a run ended. The numbers are part of the fingerprint and never change.
enum class Verdict : std::uint8_t {
  kCompleted = 0,
  kDeadlock = 1,
  kStarved = 2,
  kMismatch = 3,
  kCrashed = 4,
  kLimit = 5,
};

/// A sum over acts, so that neither the order of events nor the engine shows in it.
class Fingerprint {
 public:
  /// Adds act `k` (from 0) of an actor that was launched; kNever for what has not happened.
  void add(ActorId actor, std::uint32_t k, Time launch, Time start, Time end) {
    std::uint64_t hash = 0x9e3779b97f4a7c15;
    hash = mixed(hash, actor.value);
    hash = mixed(hash, k);
    hash = mixed(hash, static_cast<std::uint64_t>(launch.ns));
    hash = mixed(hash, static_cast<std::uint64_t>(start.ns));
    hash = mixed(hash, static_cast<std::uint64_t>(end.ns));
    sum_ += hash;
  }

  /// The number for a run that ended with `verdict`.
  std::uint64_t value(Verdict verdict) const {
    return mixed(sum_, static_cast<std::uint64_t>(verdict));
  }

 private:
  static std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
    hash = (hash ^ word) * 0xff51afd7ed558ccd;
    return hash ^ (hash >> 32);
  }

  std::uint64_t sum_ = 0;
};

}  // namespace pipesim::sim
