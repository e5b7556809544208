// Recvs from any source: what a record cannot say of them.
#pragma once

#include "models/record/record.hpp"

namespace pipesim::models {

/// Whether a group that is not under NCCL's rules has such a recv.
bool has_any_source(const Record& record, RecordRules rules);

/// The record in which these recvs are from the ranks that they got their messages from.
Record with_recorded_sources(Record record);

/// Whether a rank calls a recv while an earlier one from a certain rank, of the same group and tag,
/// may be unfinished, and receives from any there. gloo can serve the later one first; on a
/// communicator it comes second.
bool may_overtake_recvs(const Record& record);

}  // namespace pipesim::models
