#include "features/record/meetings.hpp"

#include <tuple>

namespace pipesim::models {

Meetings meetings_of(const Record& record) {
  Meetings meetings;
  for (std::uint32_t rank = 0; rank < record.ranks.size(); ++rank) {
    for (const RecordEntry& entry : record.ranks[rank].entries) {
      if (entry.kind != RecordEntry::Kind::kCall || !is_collective(entry.operation)) continue;
      if (entry.later) continue;  // never called
      meetings[{entry.group, entry.number}].push_back({rank, &entry});
    }
  }
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
