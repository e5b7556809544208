// What interleaved 1F1B and the zero-bubble schedules that grew out of it have in common.
#pragma once

#include <cstdint>

#include "models/schedules/generators.hpp"

namespace pipesim::models::schedules {

/// The one rule by which these schedules differ, for one rank.
struct RoundsRule {
  std::uint32_t warm_up = 0;             // forwards before the first backward; at most all
  std::int64_t empty_after_warm_up = 0;  // empty slots, if above 0
  bool split = false;                    // backwards in two halves ...
  std::uint32_t delay = 0;               // ... of which the second comes so many later
};

/// Micro-batches per round: PyTorch makes as many rounds as there are ranks in them.
std::uint32_t per_round(const ScheduleShape& shape);

/// Forwards of a rank, of all its stages.
std::uint32_t all_acts(const ScheduleShape& shape);

/// The actions of `rank`: after the warm-up a forward and a backward in turn, then backwards.
/// Stages of the rank take turns, a round each: forwards from its first, backwards from its last.
Actions in_rounds(const ScheduleShape& shape, std::uint32_t rank, const RoundsRule& rule);

}  // namespace pipesim::models::schedules
