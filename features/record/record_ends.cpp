#include "features/record/record_ends.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace pipesim::models {
namespace {

using EntryKind = RecordEntry::Kind;

// The key that matches sends with recvs, in order: group, sender, receiver, tag.
using MessageEnds = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::int64_t>;

MessageEnds ends_of(std::uint32_t rank, const RecordEntry& entry) {
  const bool sends = entry.operation == Operation::kSend;
  return {entry.group, sends ? rank : entry.peer, sends ? entry.peer : rank, entry.tag};
}

// Whether the entry splits a communicator: all members of the parent must take part.
bool is_split(const RecordEntry& entry) {
  return entry.kind == EntryKind::kNewGroup && entry.parent != kNotSaid;
}

bool is_message(const RecordEntry& entry) { return !is_collective(entry.operation); }

// The calls of a rank: collectives by group and sequence number, and counts of sends and recvs.
struct CallsMade {
  std::set<std::pair<std::uint32_t, std::int64_t>> collectives;
  std::map<MessageEnds, std::size_t> messages;
  std::set<std::uint32_t> groups;               // groups that the rank created
  std::map<std::uint32_t, std::size_t> splits;  // number of splits, by parent group
};

std::vector<CallsMade> called_by(const Record& record) {
  std::vector<CallsMade> called(record.ranks.size());
  for (std::uint32_t rank = 0; rank < record.ranks.size(); ++rank) {
    for (const RecordEntry& entry : record.ranks[rank].entries) {
      if (entry.kind == EntryKind::kNewGroup) called[rank].groups.insert(entry.group);
      if (is_split(entry)) ++called[rank].splits[entry.parent];
      if (entry.kind != EntryKind::kCall) continue;
      if (!is_message(entry)) {
        called[rank].collectives.emplace(entry.group, entry.number);
      } else if (entry.peer != rank) {
        ++called[rank].messages[ends_of(rank, entry)];
      }
    }
  }
  return called;
}

// Returns a list for each group: the members whose RankRecord satisfies `is_meant`. The lists are
// empty in most jobs, which makes the tests of each call cheap.
template <typename IsMeant>
std::vector<std::vector<std::uint32_t>> members_that(const Record& record,
                                                     const IsMeant& is_meant) {
  std::vector<std::vector<std::uint32_t>> result;
  result.reserve(record.groups.size());
  for (const RecordGroup& group : record.groups) {
    std::vector<std::uint32_t>& members = result.emplace_back();
    for (const std::uint32_t member : group.ranks) {
      if (member < record.ranks.size() && is_meant(record.ranks[member])) members.push_back(member);
    }
  }
  return result;
}

// Returns the call `entry` as a rank that lacks it would make it: synchronous, without place, work
// and batch.
RecordEntry later(RecordEntry entry) {
  entry.place = kNotSaid;
  entry.frame = kNotSaid;
  entry.stream = 0;
  entry.kernels = 0;
  entry.work = -1;
  entry.batch = kNotSaid;
  entry.sync = true;
  entry.later = true;
  entry.store_barrier = false;
  entry.amounts.clear();
  return entry;
}

struct Message {
  std::uint32_t rank = 0;
  std::size_t entry = 0;
  bool is_waited_for = false;
};

// The sends and recvs of one group, sender, receiver and tag, which match in order.
struct Inbox {
  std::vector<Message> sends;
  std::vector<Message> recvs;
};

std::set<std::int64_t> waited_works(const RankRecord& rank) {
  std::set<std::int64_t> works;
  for (const RecordEntry& entry : rank.entries) {
    if (entry.kind == EntryKind::kWait) works.insert(entry.amounts.begin(), entry.amounts.end());
  }
  return works;
}

}  // namespace

bool ends_in_call(const RankRecord& rank) {
  return rank.end.kind == RecordEnd::Kind::kCut && rank.end.cut == RecordEnd::Cut::kQuiescent;
}

bool stands_still(const RankRecord& rank) {
  const bool is_outside =
      rank.end.kind == RecordEnd::Kind::kCut && rank.end.cut == RecordEnd::Cut::kOutside;
  return is_outside || ends_in_call(rank);
}

bool is_cut_short(const RankRecord& rank) {
  return rank.end.kind == RecordEnd::Kind::kCut && !stands_still(rank);
}

bool ends_unknown(const RankRecord& rank) {
  return is_cut_short(rank) && rank.end.cut != RecordEnd::Cut::kSteps;
}

std::size_t drop_calls_after_cuts(Record& record) {
  const bool any = std::any_of(record.ranks.begin(), record.ranks.end(), is_cut_short);
  if (!any) return 0;
  std::vector<CallsMade> called = called_by(record);
  const auto cut_members = members_that(record, is_cut_short);
  // [collective]: whether a member whose record was cut lacks the call. A cache, because each
  // member of the group asks.
  std::map<std::pair<std::uint32_t, std::int64_t>, bool> lacked;
  const auto is_lacked = [&](std::uint32_t group, std::int64_t number) {
    if (cut_members[group].empty()) return false;
    const auto [known, is_new] = lacked.try_emplace({group, number}, false);
    if (is_new) {
      known->second = std::any_of(cut_members[group].begin(), cut_members[group].end(),
                                  [&](std::uint32_t member) {
                                    return called[member].collectives.count({group, number}) == 0;
                                  });
    }
    return known->second;
  };
  std::size_t dropped = 0;
  for (std::uint32_t rank = 0; rank < record.ranks.size(); ++rank) {
    std::map<MessageEnds, std::size_t> before;
    std::map<std::uint32_t, std::size_t> splits;
    auto& entries = record.ranks[rank].entries;
    const auto ends_here = [&](const RecordEntry& entry) {
      if (is_split(entry)) {
        const std::size_t number = ++splits[entry.parent];
        const std::vector<std::uint32_t>& cut = cut_members[entry.parent];
        return std::any_of(cut.begin(), cut.end(), [&](std::uint32_t member) {
          return called[member].splits[entry.parent] < number;
        });
      }
      if (entry.kind != EntryKind::kCall) return false;
      if (is_message(entry)) {
        if (entry.peer == rank) return false;
        const MessageEnds ends = ends_of(rank, entry);
        return is_cut_short(record.ranks[entry.peer]) &&
               ++before[ends] > called[entry.peer].messages[ends];
      }
      return is_lacked(entry.group, entry.number);
    };
    const auto gone = std::remove_if(entries.begin(), entries.end(), ends_here);
    dropped += static_cast<std::size_t>(entries.end() - gone);
    entries.erase(gone, entries.end());
  }
  return dropped;
}

void add_later_calls(Record& record) {
  if (std::none_of(record.ranks.begin(), record.ranks.end(), stands_still)) return;
  std::vector<CallsMade> called = called_by(record);
  const auto still_members = members_that(record, stands_still);
  // Collectives, groups and splits whose missing calls were already added. All members of a group
  // make a call, but only the first member needs to add it for the others.
  std::set<std::pair<std::uint32_t, std::int64_t>> asked;
  std::set<std::uint32_t> asked_groups;
  std::map<std::uint32_t, std::size_t> asked_splits;
  std::vector<std::vector<RecordEntry>> more(record.ranks.size());
  for (std::uint32_t rank = 0; rank < record.ranks.size(); ++rank) {
    std::map<MessageEnds, std::size_t> before;
    std::map<std::uint32_t, std::size_t> splits;
    for (const RecordEntry& entry : record.ranks[rank].entries) {
      if (is_split(entry)) {
        const std::size_t number = ++splits[entry.parent];
        if (number <= asked_splits[entry.parent]) continue;
        asked_splits[entry.parent] = number;
        for (const std::uint32_t member : still_members[entry.parent]) {
          std::size_t& made = called[member].splits[entry.parent];
          if (made >= number) continue;
          made = number;
          called[member].groups.insert(entry.group);
          more[member].push_back(later(entry));
        }
      } else if (entry.kind == EntryKind::kNewGroup) {
        if (!asked_groups.insert(entry.group).second) continue;
        for (const std::uint32_t member : still_members[entry.group]) {
          if (!called[member].groups.insert(entry.group).second) continue;
          more[member].push_back(later(entry));
        }
      }
      if (entry.kind != EntryKind::kCall) continue;
      if (!is_message(entry)) {
        const std::vector<std::uint32_t>& members = still_members[entry.group];
        if (members.empty() || !asked.emplace(entry.group, entry.number).second) continue;
        for (const std::uint32_t member : members) {
          const bool is_new = called[member].collectives.emplace(entry.group, entry.number).second;
          if (is_new) more[member].push_back(later(entry));
        }
      } else if (entry.peer != rank) {
        const MessageEnds ends = ends_of(rank, entry);
        if (++before[ends] <= called[entry.peer].messages[ends]) continue;
        RecordEntry other = later(entry);
        other.operation =
            entry.operation == Operation::kSend ? Operation::kReceive : Operation::kSend;
        other.peer = rank;
        other.any_source = false;
        // Any member can be the sender for a recv from any source.
        const std::vector<std::uint32_t> peers =
            entry.any_source ? record.groups[entry.group].ranks : std::vector{entry.peer};
        for (const std::uint32_t peer : peers) {
          if (peer != rank && stands_still(record.ranks[peer])) more[peer].push_back(other);
        }
      }
    }
  }
  for (std::uint32_t rank = 0; rank < record.ranks.size(); ++rank) {
    auto& entries = record.ranks[rank].entries;
    entries.insert(entries.end(), more[rank].begin(), more[rank].end());
  }
}

std::set<std::pair<std::uint32_t, std::size_t>> unmatched_messages(const Record& record,
                                                                   RecordRules rules) {
  using Ends = std::tuple<std::uint32_t, std::int64_t, std::uint32_t, std::uint32_t>;
  std::map<Ends, Inbox> inboxes;
  // Group, tag and receiver of each recv from any source.
  std::set<std::tuple<std::uint32_t, std::int64_t, std::uint32_t>> from_any;
  for (std::uint32_t rank = 0; rank < record.ranks.size(); ++rank) {
    const std::vector<RecordEntry>& entries = record.ranks[rank].entries;
    std::optional<std::set<std::int64_t>> waited;  // computed at the first use
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const RecordEntry& entry = entries[i];
      const bool counts = entry.kind == EntryKind::kCall && !is_collective(entry.operation) &&
                          !record.groups[entry.group].under_nccl(rules);
      if (!counts) continue;
      if (!waited) waited = waited_works(record.ranks[rank]);
      const bool sends = entry.operation == Operation::kSend;
      if (entry.any_source) from_any.emplace(entry.group, entry.tag, rank);
      Inbox& inbox =
          inboxes[{entry.group, entry.tag, sends ? rank : entry.peer, sends ? entry.peer : rank}];
      (sends ? inbox.sends : inbox.recvs)
          .push_back({rank, i, entry.sync || waited->count(entry.work) > 0});
    }
  }
  std::set<std::pair<std::uint32_t, std::size_t>> unmatched;
  for (const auto& [ends, inbox] : inboxes) {
    const auto& [group, tag, from, to] = ends;
    if (from_any.count({group, tag, to}) > 0) continue;  // timing decides which sends match
    const std::size_t met = std::min(inbox.sends.size(), inbox.recvs.size());
    for (const std::vector<Message>* side : {&inbox.sends, &inbox.recvs}) {
      for (std::size_t i = met; i < side->size(); ++i) {
        const Message& message = (*side)[i];
        if (!message.is_waited_for) unmatched.emplace(message.rank, message.entry);
      }
    }
  }
  return unmatched;
}

}  // namespace pipesim::models
