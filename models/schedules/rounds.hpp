// The common part of interleaved 1F1B and the zero-bubble schedules derived from it.
#pragma once

#include <cstdint>

#include "models/schedules/generators.hpp"

namespace pipesim::models::schedules {

/// The parameters in which the schedules in rounds differ, for one rank.
struct RoundsRule {
  // Number of forwards before the first pair of a forward and a backward; capped at all_ops().
  std::uint32_t warm_up = 0;
  std::int64_t empty_after_warm_up = 0;  // number of empty slots, if above 0
  bool split = false;                    // whether backwards are split into two gradients
  std::uint32_t delay = 0;  // weight gradients lag by this number of backwards, if `split`
};

/// Returns the number of micro-batches per round. As in PyTorch, there are micro_batches / ranks
/// rounds, at least 1.
std::uint32_t per_round(const ScheduleShape& shape);

/// Returns the number of forwards of a rank, over all its stages.
std::uint32_t all_ops(const ScheduleShape& shape);

/// Returns the actions of `rank`: the warm-up, then forwards and backwards in turn, then the
/// remaining backwards. The stages of the rank alternate after each round: forwards start with the
/// rank's first stage, backwards with the rank's last stage.
Actions in_rounds(const ScheduleShape& shape, std::uint32_t rank, const RoundsRule& rule);

}  // namespace pipesim::models::schedules
