// Which calls of a record meet: the n-th calls on a group, of all its members.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "models/record/record.hpp"

namespace pipesim::models {

/// A call of a collective on one rank.
struct Arrival {
  std::uint32_t rank = 0;
  const RecordEntry* entry = nullptr;
};

/// By group and number in it, without calls that nobody recorded. Arrivals are ascending by rank.
using Meetings = std::map<std::pair<std::uint32_t, std::int64_t>, std::vector<Arrival>>;

Meetings meetings_of(const Record& record);

/// Whether operation, bytes, type and root agree.
bool same_signature(const RecordEntry& a, const RecordEntry& b);

/// Whether one of the two sides is only the root: programs give it a line of its own on purpose.
bool is_root_alone(const std::vector<Arrival>& first, const std::vector<Arrival>& second);

}  // namespace pipesim::models
