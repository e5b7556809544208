// Records that end before the program of their rank does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

#include "features/record/record.hpp"

namespace pipesim::models {

/// Whether the record of a rank was cut: it ends although the rank could have continued.
bool is_cut_short(const RankRecord& rank);

/// Whether the record ends inside a call, in which the rank waited.
bool ends_in_call(const RankRecord& rank);

/// Whether the rank made no further call because it was blocked or outside torch.distributed.
bool stands_still(const RankRecord& rank);

/// Whether the rest of the program is unknown: the process was killed, the job made no progress, or
/// the program depended on made-up values. Returns false for a rank cut by `--steps`: the user
/// chose enough steps.
bool ends_unknown(const RankRecord& rank);

/// Drops calls whose matching call is missing because the record of its rank was cut. Such calls
/// are not stuck: the record ends. Returns the number of dropped calls.
std::size_t drop_calls_after_cuts(Record& record);

/// Appends to quiescent ranks the calls that other ranks wait for. As far as the record shows, each
/// of these calls would still be made. So the ranks wait for each other, and no call is missing.
void add_later_calls(Record& record);

/// Returns the entries, by rank, of gloo sends and recvs without a wait and without a match. Such
/// sends and recvs end with their process and block no other rank.
std::set<std::pair<std::uint32_t, std::size_t>> unmatched_messages(const Record& record,
                                                                   RecordRules rules);

}  // namespace pipesim::models
