// Where the ranks of a real job stand in the record of its script.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/postmortem/evidence.hpp"
#include "models/record/record.hpp"

namespace pipesim::models {

/// What a rank of the job does, by the record.
enum class JobStanding : std::uint8_t {
  kUnknown,  // there is no evidence of its calls
  kIn,       // it is in this call
  kBefore,   // all its calls are done, and this one is next
  kAtEnd,    // likewise, and the record has no other
  kDiffers,  // the record has another call under that number
  kNotThere  // the record has no call of that number, and no step that repeats
};

struct RankPlace {
  std::uint32_t rank = 0;
  JobStanding standing = JobStanding::kUnknown;
  std::string call;        // of the job: "all_reduce dp#17"; of kBefore its last one
  std::int64_t steps = 0;  // of a call behind the last step of the record: steps done before it
  const RecordEntry* entry = nullptr;  // in the record; kIn, kBefore, kDiffers
};

/// Of each rank of the record, in order. A number behind the last one of the record is looked for
/// in its last step (of the optimizer), as if that were repeated.
std::vector<RankPlace> job_places(const Record& record, const Evidence& evidence);

}  // namespace pipesim::models
