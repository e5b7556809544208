// Ops of a lane, merged into parts if a page cannot show each op.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/result/timeline.hpp"

namespace pipesim::viz {

struct SlicePart {
  const models::Slice* first = nullptr;
  // Longest slice of the kind that fills most of this part.
  const models::Slice* looks_like = nullptr;
  std::size_t count = 1;
  std::int64_t end_ns = 0;  // end of the last slice
};

/// Returns each slice as a part if there are at most `most` slices. Otherwise divides the time of
/// the lane into `most` equal intervals, and merges the slices that begin in the same interval. An
/// unfinished slice always is its own part.
std::vector<SlicePart> slice_parts(const std::vector<const models::Slice*>& slices,
                                   std::size_t most);

}  // namespace pipesim::viz
