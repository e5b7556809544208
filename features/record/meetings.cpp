#include "features/record/meetings.hpp"

#include <tuple>
#include <vector>

#include "features/record/number_table.hpp"

namespace pipesim::models {

namespace {

// Calls `visit(rank, entry)` for each collective that a rank called.
template <typename Visit>
void for_each_collective(const Record& record, const Visit& visit) {
  for (std::uint32_t rank = 0; rank < record.ranks.size(); ++rank) {
    for (const RecordEntry& entry : record.ranks[rank].entries) {
      if (entry.kind != RecordEntry::Kind::kCall || !is_collective(entry.operation)) continue;
      if (!entry.later) visit(rank, entry);
    }
  }
}

}  // namespace

Meetings meetings_of(const Record& record) {
  Meetings meetings;
  for_each_collective(record, [&](std::uint32_t rank, const RecordEntry& entry) {
    meetings[{entry.group, entry.number}].push_back({rank, &entry});
  });
  return meetings;
}

Meetings uneven_meetings_of(const Record& record) {
  struct Calls {
    std::uint32_t place = kNotSaid;  // place of the first call
    bool any = false;
    bool uneven = false;
  };
  std::vector<NumberTable<Calls>> calls(record.groups.size());
  bool any_uneven = false;
  for_each_collective(record, [&](std::uint32_t /*rank*/, const RecordEntry& entry) {
    Calls& meeting = calls[entry.group][entry.number];
    if (!meeting.any) meeting.place = entry.place;
    meeting.any = true;
    if (meeting.place == entry.place && entry.amounts.empty()) return;
    meeting.uneven = any_uneven = true;
  });
  Meetings meetings;
  if (!any_uneven) return meetings;
  for_each_collective(record, [&](std::uint32_t rank, const RecordEntry& entry) {
    if (!calls[entry.group].get(entry.number).uneven) return;
    meetings[{entry.group, entry.number}].push_back({rank, &entry});
  });
  return meetings;
}

bool same_signature(const RecordEntry& a, const RecordEntry& b) {
  return std::tie(a.operation, a.bytes, a.type, a.peer) ==
         std::tie(b.operation, b.bytes, b.type, b.peer);
}

bool is_root_alone(const std::vector<Arrival>& first, const std::vector<Arrival>& second) {
  const auto is_root = [](const std::vector<Arrival>& arrivals) {
    return arrivals.size() == 1 && has_root(arrivals.front().entry->operation) &&
           arrivals.front().entry->peer == arrivals.front().rank;
  };
  return is_root(first) || is_root(second);
}

}  // namespace pipesim::models
