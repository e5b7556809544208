// Durations that vary from act to act, by a seed (docs/reference/rules.md, 11).
#pragma once

#include <cstdint>
#include <limits>

#include "sim/splitmix.hpp"
#include "sim/time.hpp"

namespace pipesim::sim {

/// What a duration belongs to. The numbers are part of what a seed means and never change.
enum class Draw : std::uint8_t {
  kOp = 0,      // an act on its stream: actor, number
  kCall = 1,    // a call: number of the call, act
  kLaunch = 2,  // the launch overhead of an act: actor, number
  kInput = 3,   // how long an item from outside is waited for: actor, number
  kWake = 4,    // from what wakes a thread to the wake: thread, time
};

/// A timing of a plan: each duration is replaced by one that depends on the seed, on what it
/// belongs to, and on nothing else. The same seed gives the same run, whatever else changes.
struct Jitter {
  std::uint32_t permille = 0;  // the most by which a duration is longer or shorter
  bool free = false;           // durations have nothing to do with those of the plan; see of()
  std::uint64_t seed = 0;

  friend constexpr bool operator==(const Jitter&, const Jitter&) = default;

  /// False where all durations are those of the plan.
  constexpr bool varies() const { return free || permille > 0; }

  /// What replaces `plain`. With `permille`: one of the whole numbers from plain - part to plain +
  /// part, and not below 0, for part = plain * permille / 1000; so 0 stays 0. Where `free`: one
  /// from 0 to 2^23 - 2 ns, small ones about as often as large ones, so that things that can happen
  /// in either order do. Half of the magnitude is that of all with this `id`: some are always slow.
  constexpr Duration of(Draw what, std::uint32_t id, std::uint64_t k, Duration plain) const {
    if (!free && plain.ns == 0) return plain;
    const std::uint64_t of_what = mixed(mixed(seed, 0), static_cast<std::uint64_t>(what));
    const std::uint64_t of_id = mixed(of_what, id);
    const std::uint64_t hash = mixed(of_id, k);
    if (free) {
      const std::uint64_t octave = of_id % kOctaves + hash % kOctaves;
      const std::uint64_t width = std::uint64_t{1} << octave;
      return {static_cast<std::int64_t>(width - 1 + mixed(hash, 0) % width)};
    }
    const std::int64_t part = part_of(plain.ns);
    const std::int64_t least = part > plain.ns ? 0 : plain.ns - part;
    const std::int64_t most = later(Time{plain.ns}, Duration{part}).ns;
    const std::uint64_t count = static_cast<std::uint64_t>(most - least) + 1;
    return {least + static_cast<std::int64_t>(hash % count)};
  }

 private:
  static constexpr std::uint64_t kOctaves = 12;

  // plain * permille / 1000, or the largest number there is.
  constexpr std::int64_t part_of(std::int64_t plain) const {
    const std::int64_t whole = plain / 1000;
    if (permille > 0 && whole > std::numeric_limits<std::int64_t>::max() / permille - 1) {
      return std::numeric_limits<std::int64_t>::max();
    }
    return whole * permille + plain % 1000 * permille / 1000;
  }

  static constexpr std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
    return splitmix(hash ^ word);
  }
};

}  // namespace pipesim::sim
