// Records of real jobs, from the notes of `pipesim attach`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "features/record/attached_file.hpp"

namespace pipesim::formats {

/// A rank's file of a record, as `pipesim record` would have written it.
struct AttachedText {
  std::uint32_t rank = 0;
  std::string text;
};

/// Returns the files of a record of these ranks. Omits steps that all ranks repeat at the same
/// time, except the first ones and the last one. If a rank did not write its end, decides how it
/// ended: blocked in a call, outside of torch.distributed, or killed.
std::vector<AttachedText> attached_record(std::vector<AttachedRank> ranks);

}  // namespace pipesim::formats
