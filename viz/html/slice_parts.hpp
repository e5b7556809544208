// Ops of a lane, as many drawn as one as have to be where a page has no room for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/measure/timeline.hpp"

namespace pipesim::viz {

struct SlicePart {
  const models::Slice* first = nullptr;
  const models::Slice* looks_like = nullptr;  // the longest of the kind that takes most of its time
  std::size_t count = 1;
  std::int64_t end_ns = 0;  // of the last
};

/// About `most` parts, one for each stretch of time in which something ran; or each slice by
/// itself, where there are not more than that. What is not done is always by itself.
std::vector<SlicePart> slice_parts(const std::vector<const models::Slice*>& slices,
                                   std::size_t most);

}  // namespace pipesim::viz
