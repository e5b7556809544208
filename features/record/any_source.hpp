// Recvs from any source. A record shows only the source of the recorded run.
#pragma once

#include "features/record/record.hpp"

namespace pipesim::models {

/// Whether a group that is not under NCCL's rules has a recv from any source.
bool has_any_source(const Record& record, RecordRules rules);

/// Returns the record with each recv from any source fixed to its recorded source.
Record with_recorded_sources(Record record);

/// Whether some rank uses a group and tag for recvs from any source, and posts such a recv while an
/// earlier recv from a given rank may be pending. In gloo, the later recv can be served first; on a
/// simulated communicator, the earlier recv comes first.
bool may_overtake_recvs(const Record& record);

}  // namespace pipesim::models
