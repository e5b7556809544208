// Small random plans, of which the order of steps often decides whether they hang.
#pragma once

#include <cstdint>
#include <optional>

#include "tests/twin/spec.hpp"

namespace pipesim::twin {

/// The plan of a seed, the same everywhere; nothing for a seed whose plan would be too large for
/// SPIN, or empty. No faults.
std::optional<Spec> small_spec(std::uint64_t seed);

}  // namespace pipesim::twin
