// Programs as people would have written them: repeated steps become loops.
#pragma once

#include <cstdint>
#include <vector>

namespace pipesim::models {

/// A step, or a block that is repeated.
struct FoldedStep {
  std::uint32_t step = 0;  // without a block
  std::uint64_t times = 1;
  std::vector<FoldedStep> block;
};

/// `steps` with loops, longest first: unfolded, they are the same.
std::vector<FoldedStep> fold_loops(const std::vector<std::uint32_t>& steps);

}  // namespace pipesim::models
