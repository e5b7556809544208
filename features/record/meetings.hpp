// Matches the collective calls of a record: the n-th calls of all members on a group.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "features/record/record.hpp"

namespace pipesim::models {

/// A collective call of one rank.
struct Arrival {
  std::uint32_t rank = 0;
  const RecordEntry* entry = nullptr;
};

/// Recorded calls by group and sequence number, ascending by rank.
using Meetings = std::map<std::pair<std::uint32_t, std::int64_t>, std::vector<Arrival>>;

Meetings meetings_of(const Record& record);

/// Returns only the meetings whose calls come from several lines or pass splits. No other meeting
/// of a long record needs a comparison.
Meetings uneven_meetings_of(const Record& record);

/// Whether the two calls have equal operations, bytes, types and roots.
bool same_signature(const RecordEntry& a, const RecordEntry& b);

/// Whether one of the two sides consists of the root alone. Programs often give the root its own
/// line.
bool is_root_alone(const std::vector<Arrival>& first, const std::vector<Arrival>& second);

}  // namespace pipesim::models
