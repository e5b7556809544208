// The notes of `pipesim attach` as evidence of a hang.
#pragma once

#include "features/diagnose/evidence.hpp"
#include "features/record/record.hpp"

namespace pipesim::models {

/// Returns the calls of a job's record, their states and the state of each rank. `record` was made
/// from the notes of `pipesim attach`.
Evidence attach_evidence(const Record& record);

}  // namespace pipesim::models
