// Records that end before the program of their rank does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

#include "features/record/record.hpp"

namespace pipesim::models {

/// Whether the record of a rank ends although the rank could have continued.
bool is_cut_short(const RankRecord& rank);

/// Whether the rank was blocked when its record ended, like all other ranks.
bool stands_still(const RankRecord& rank);

/// Whether the rest of the program is unknown: the process died or was killed, made no progress, or
/// depended on made-up values. Returns false for a rank cut by `--steps`: the user chose enough
/// steps.
bool ends_unknown(const RankRecord& rank);

/// Drops calls whose matching call is missing because the record of its rank was cut. Such calls
/// are not stuck: the record ends. Returns the number of dropped calls.
std::size_t drop_calls_after_cuts(Record& record);

/// Gives quiescent ranks the calls that other ranks wait for. As far as the record shows, each call
/// would still come. So the ranks wait for each other, and no call is missing.
void add_later_calls(Record& record);

/// Returns the entries, by rank, of gloo sends and recvs without a wait and without a match. Such
/// sends and recvs end with their process and block no other rank.
std::set<std::pair<std::uint32_t, std::size_t>> unmatched_messages(const Record& record,
                                                                   RecordRules rules);

}  // namespace pipesim::models
