// Small changes to a collective algorithm, as somebody would make them in the file.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/algorithm/collective_algorithm.hpp"
#include "models/algorithm/verify_algorithm.hpp"

namespace pipesim::models {

AlgoBlock& block_of(CollectiveAlgorithm& algorithm, std::uint32_t rank, std::uint32_t block);

/// Moves the next step of the same thread block that goes the other way (a receive for a send)
/// before `ref`, and what depends on the steps between with it. Returns where it was; nothing where
/// there is none that can be moved.
std::optional<std::uint32_t> move_opposite(CollectiveAlgorithm& algorithm, const AlgoStepRef& ref);

/// The same of MSCCL++: moves the next signal before `ref`, which is a wait.
std::optional<std::uint32_t> move_signal(CollectiveAlgorithm& algorithm, const AlgoStepRef& ref);

/// Steps of MSCCL that move more than `most` chunks become several. A send and a receive that
/// follow each other are done in turn, so that no more is in flight than the first needs.
void split_steps(CollectiveAlgorithm& algorithm, std::uint32_t most);

/// A `nop` of MSCCL++ before step `before`, or at the end.
void insert_nop(std::vector<AlgoStep>& steps, std::uint32_t before);

}  // namespace pipesim::models
