// Locates the ranks of a real job in the record of its script.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "features/diagnose/evidence.hpp"
#include "features/record/record.hpp"

namespace pipesim::models {

/// The position of a rank of the job in the record.
enum class JobStanding : std::uint8_t {
  kUnknown,  // no evidence of its calls
  kIn,       // `entry` is its current call
  kBefore,   // all its calls are done, and `entry` is its next call
  kAtEnd,    // all its calls are done, and the record has no further call
  kDiffers,  // the record has another call with this number
  kNotThere  // the record has no call with this number, and no step that repeats
};

struct RankPlace {
  std::uint32_t rank = 0;
  JobStanding standing = JobStanding::kUnknown;
  std::string call;        // name in the job: "all_reduce dp#17"; for kBefore, its last call
  std::string recorded{};  // for kDiffers: the call in the record; empty: the operation of `entry`
  std::int64_t steps = 0;  // for a call after the end of the record: optimizer steps done before it
  const RecordEntry* entry = nullptr;  // entry in the record; for kIn, kBefore, kDiffers
};

/// Returns the position of each rank. If the number of a call exceeds all numbers in the record,
/// looks the call up in the last optimizer step, as if the job repeated this step.
std::vector<RankPlace> job_places(const Record& record, const Evidence& evidence);

/// Returns the first call of each rank's main thread in which `job`, the notes of the real job,
/// differs from the record; if there is none, the place of the rank.
std::vector<RankPlace> job_places(const Record& record, const Record& job);

}  // namespace pipesim::models
