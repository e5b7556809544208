// Small random plans. In many plans, the interleaving decides whether the plan hangs.
#pragma once

#include <cstdint>
#include <optional>

#include "tests/twin/spec.hpp"

namespace pipesim::twin {

/// Returns the plan of a seed, without faults, identical on every platform. Returns nullopt if the
/// plan is empty or too large for SPIN.
std::optional<Spec> small_spec(std::uint64_t seed);

/// Returns a plan of host programs on three or four ranks, which send to each other and receive
/// from any rank.
Spec spec_with_any_source(std::uint64_t seed);

/// Returns a plan of groups with several stages, with and without buffers; or nullopt if the plan
/// is not small. Most plans have devices with few hardware queues, few kernel slots or a launch
/// order [5.3, 9.3, 9.5].
std::optional<Spec> spec_with_groups(std::uint64_t seed);

}  // namespace pipesim::twin
