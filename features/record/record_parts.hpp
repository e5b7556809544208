// The parts of training steps in a record: forwards and backwards of micro-batches, optimizers.
#pragma once

#include <cstdint>
#include <vector>

#include "models/graph/recorded_parts.hpp"

#include "features/record/record.hpp"

namespace pipesim::models {

/// The parts of one rank. An entry without a part has kNotSaid.
struct RankParts {
  std::vector<RecordedPart> all;          // in program order
  std::vector<std::uint32_t> of_entry;    // [entry]: index in `all`
  std::vector<std::uint32_t> of_kernels;  // [entry]: the same for the kernels before the entry
};

/// Finds the parts of a rank. A backward is between its marks, or below a function whose name
/// contains "backward". A forward is below a function whose name contains "forward", or consists of
/// the kernels right before a backward. A send or recv that repeats one of the open part begins the
/// next part of the same kind.
RankParts rank_parts(const Record& record, std::uint32_t rank);

}  // namespace pipesim::models
