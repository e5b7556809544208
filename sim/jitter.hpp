// Durations that vary from op to op, controlled by a seed (docs/reference/rules.md, 11).
#pragma once

#include <cstdint>
#include <limits>

#include "sim/splitmix.hpp"
#include "sim/time.hpp"

namespace pipesim::sim {

/// The kind of a duration. The comments name the `id` and `k` that Jitter::of() takes for each
/// kind. The numeric values determine the meaning of a seed and never change.
enum class Draw : std::uint8_t {
  kOp = 0,      // the time of an op on its stream; `id`: actor, `k`: op
  kCall = 1,    // the time of a call; `id`: call, `k`: op
  kLaunch = 2,  // the launch overhead of an op; `id`: actor, `k`: op
  kInput = 3,   // the wait for an item of outside input; `id`: actor, `k`: op
  kWake = 4,    // the delay of a thread's wake; `id`: thread, `k`: time of the cause
};

/// A timing of a plan: replaces each duration by one that depends only on the seed and on the
/// duration's op, call or thread. The same seed gives the same run, whatever else changes.
struct Jitter {
  std::uint32_t permille = 0;  // largest relative change of a duration, in permille
  bool free = false;           // whether to ignore the plan's durations; see of()
  std::uint64_t seed = 0;

  friend constexpr bool operator==(const Jitter&, const Jitter&) = default;

  /// Whether durations can differ from the plan's.
  constexpr bool varies() const { return free || permille > 0; }

  /// Returns the duration that replaces `plain`. With `permille`: an integer from plain - part to
  /// plain + part, at least 0, for part = plain * permille / 1000; so 0 stays 0. With `free`: an
  /// integer from 0 to 2^23 - 2 ns. Small and large magnitudes are about equally frequent, so that
  /// events happen in either order. All durations of one `id` share half of the magnitude, so that
  /// some ids are always slow.
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

  // Returns plain * permille / 1000, or the largest integer on overflow.
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
