// Where the records of ranks end before their programs do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

#include "models/record/record.hpp"

namespace pipesim::models {

/// Whether the record of a rank ends although the rank could have gone on.
bool is_cut_short(const RankRecord& rank);

/// Whether the rank waited when its record ended, as all others did.
bool stands_still(const RankRecord& rank);

/// Whether nobody knows what a rank whose record ends goes on to do: its process died or was ended,
/// made no progress, or the values that it went on with were made up. Of a rank that was cut after
/// `--steps`, whoever recorded it says that the steps are enough.
bool ends_unknown(const RankRecord& rank);

/// Drops what ranks asked of others that were cut short before they came to it: they are not stuck,
/// the record ends. Returns how many calls these are.
std::size_t drop_calls_after_cuts(Record& record);

/// Gives ranks that stand still the calls that others wait for. Each would come later, for
/// all that is known: so the ranks wait for each other, and no call is missing.
void add_later_calls(Record& record);

/// Entries, by rank, of sends and recvs of gloo that nothing waits for and that no call of the
/// other rank meets. They end with their process, and keep nobody from ending.
std::set<std::pair<std::uint32_t, std::size_t>> unmatched_messages(const Record& record,
                                                                   RecordRules rules);

}  // namespace pipesim::models
