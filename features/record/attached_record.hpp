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

/// A process has died if its last sign of life is this many seconds old.
inline constexpr std::int64_t kSecondsToDie = 30;

/// The files of a record, and whether its job goes on.
struct AttachedJob {
  std::vector<AttachedText> texts;
  bool goes_on = false;       // whether a rank has not ended and is not blocked
  bool has_ended = false;     // whether each rank has ended
  std::int64_t steps = 0;     // number of optimizer steps that all ranks have finished
  std::int64_t alive_at = 0;  // last sign of life of any rank, in seconds since 1970
};

/// Returns the files of a record of these ranks. Omits steps that all ranks repeat at the same
/// time, except the first ones and the last one. If a rank did not write its end, decides how it
/// ended: blocked in a call, outside of torch.distributed, or killed. With `only_steps`, ends the
/// record of a job that goes on after the steps that all ranks have finished.
AttachedJob attached_record(std::vector<AttachedRank> ranks, bool only_steps = false);

}  // namespace pipesim::formats
