// Small edits of a collective algorithm, as a person would make them in the file.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "features/algorithm/collective_algorithm.hpp"
#include "features/algorithm/verify_algorithm.hpp"

namespace pipesim::models {

AlgoBlock& block_of(CollectiveAlgorithm& algorithm, std::uint32_t rank, std::uint32_t block);

/// Moves the next step of `ref`'s thread block in the other direction (a receive if `ref` sends)
/// before `ref`. Updates dependencies on the steps that get new indices. Returns the old index of
/// the moved step, or nullopt if no step can be moved.
std::optional<std::uint32_t> move_opposite(CollectiveAlgorithm& algorithm, const AlgoStepRef& ref);

/// Moves the next signal of a thread block of MSCCL++ before `ref`. Returns the old index of the
/// signal, or nullopt if `ref` is not a wait or no signal follows.
std::optional<std::uint32_t> move_signal(CollectiveAlgorithm& algorithm, const AlgoStepRef& ref);

/// Splits MSCCL steps that move more than `most` chunks. The pieces of an adjacent send and receive
/// alternate, so that no more chunks are in flight than one pair of pieces needs.
void split_steps(CollectiveAlgorithm& algorithm, std::uint32_t most);

/// Inserts a `nop` of MSCCL++ before step `before`, or at the end.
void insert_nop(std::vector<AlgoStep>& steps, std::uint32_t before);

}  // namespace pipesim::models
