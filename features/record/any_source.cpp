#include "features/record/any_source.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace pipesim::models {
namespace {

using EntryKind = RecordEntry::Kind;

bool is_recv(const RecordEntry& entry) {
  return entry.kind == EntryKind::kCall && entry.operation == Operation::kReceive;
}

bool may_overtake_recvs(const RankRecord& rank) {
  using Inbox = std::pair<std::uint32_t, std::int64_t>;  // group, tag
  std::set<Inbox> from_any;
  for (const RecordEntry& entry : rank.entries) {
    if (is_recv(entry) && entry.any_source) from_any.emplace(entry.group, entry.tag);
  }
  // Pending works of recvs from a given rank, by group and tag.
  std::map<Inbox, std::set<std::int64_t>> open;
  for (const RecordEntry& entry : rank.entries) {
    if (entry.kind == EntryKind::kWait) {
      for (auto& [inbox, works] : open) {
        for (const std::int64_t work : entry.amounts) works.erase(work);
      }
    }
    const Inbox inbox{entry.group, entry.tag};
    if (!is_recv(entry) || from_any.count(inbox) == 0) continue;
    if (!open[inbox].empty()) return true;
    // The record shows the end of an asynchronous recv only by a wait.
    if (!entry.any_source && !entry.sync) open[inbox].insert(entry.work);
  }
  return false;
}

}  // namespace

bool has_any_source(const Record& record, RecordRules rules) {
  return std::any_of(record.ranks.begin(), record.ranks.end(), [&](const RankRecord& rank) {
    return std::any_of(rank.entries.begin(), rank.entries.end(), [&](const RecordEntry& entry) {
      return entry.any_source && !record.groups[entry.group].under_nccl(rules);
    });
  });
}

Record with_recorded_sources(Record record) {
  for (RankRecord& rank : record.ranks) {
    for (RecordEntry& entry : rank.entries) entry.any_source = false;
  }
  return record;
}

bool may_overtake_recvs(const Record& record) {
  return std::any_of(record.ranks.begin(), record.ranks.end(),
                     [](const RankRecord& rank) { return may_overtake_recvs(rank); });
}

}  // namespace pipesim::models
