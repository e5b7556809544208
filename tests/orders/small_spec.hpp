// Small random plans, of which the order of steps often decides whether they hang.
#pragma once

#include <cstdint>
#include <optional>

#include "tests/twin/spec.hpp"

namespace pipesim::twin {

/// The plan of a seed, the same everywhere; nothing for a seed whose plan would be too large for
/// SPIN, or empty. No faults.
std::optional<Spec> small_spec(std::uint64_t seed);

/// Host programs of three or four ranks that send to each other, and receive from any rank.
Spec spec_with_any_source(std::uint64_t seed);

/// Groups of several stages, with and without buffers, mostly on devices with few hardware queues,
/// little room or a launch order [5.3, 9.3, 9.5]. Nothing where it is not small.
std::optional<Spec> spec_with_groups(std::uint64_t seed);

}  // namespace pipesim::twin
