// Folds repeated steps of a program into loops, as a person would write the program.
#pragma once

#include <cstdint>
#include <vector>

namespace pipesim::models {

/// A step, or a repeated block.
struct FoldedStep {
  std::uint32_t step = 0;  // the step, if `block` is empty
  std::uint64_t times = 1;
  std::vector<FoldedStep> block;
};

/// Folds `steps` into loops, which can be nested. Unfolding the loops restores `steps`.
std::vector<FoldedStep> fold_loops(const std::vector<std::uint32_t>& steps);

}  // namespace pipesim::models
