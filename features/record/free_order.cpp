#include "features/record/free_order.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace pipesim::models {
namespace {

using EntryKind = RecordEntry::Kind;
using RankNumbers = std::set<std::uint32_t>;
using RanksByPlace = std::map<std::uint32_t, RankNumbers>;

bool is_send(const RecordEntry& entry) {
  return entry.kind == EntryKind::kCall && entry.operation == Operation::kSend;
}

// Returns the works of sends and recvs that Python collected before a wait.
std::set<std::int64_t> dropped_works(const RankRecord& rank) {
  std::set<std::int64_t> works;
  for (const RecordEntry& entry : rank.entries) {
    if (entry.kind == EntryKind::kDrop) works.insert(entry.amounts.begin(), entry.amounts.end());
  }
  return works;
}

std::string with_place(const Record& record, const std::string& text, std::uint32_t place) {
  return place == kNotSaid ? text : text + " (" + record.place_of(place) + ")";
}

std::vector<std::uint32_t> list_of(const RankNumbers& ranks) {
  return {ranks.begin(), ranks.end()};
}

// Messages as group, tag, sender and receiver.
using Messages = std::set<std::tuple<std::uint32_t, std::int64_t, std::uint32_t, std::uint32_t>>;

Messages sent_messages(const Record& record) {
  Messages sent;
  for (std::uint32_t rank = 0; rank < record.ranks.size(); ++rank) {
    for (const RecordEntry& entry : record.ranks[rank].entries) {
      if (is_send(entry)) sent.emplace(entry.group, entry.tag, rank, entry.peer);
    }
  }
  return sent;
}

using CallsByWork = std::map<std::int64_t, const RecordEntry*>;

// Adds the calls of `calls` whose Work `entry` drops.
void add_dropped(const RecordEntry& entry, const CallsByWork& calls,
                 std::vector<const RecordEntry*>& dropped) {
  if (entry.kind != EntryKind::kDrop) return;
  for (const std::int64_t work : entry.amounts) {
    const auto call = calls.find(work);
    if (call != calls.end()) dropped.push_back(call->second);
  }
}

// Whether a message of `sent` can meet `recv`, a recv of `rank`.
bool is_met(const RecordEntry& recv, std::uint32_t rank, const Messages& sent) {
  return recv.any_source || sent.count({recv.group, recv.tag, recv.peer, rank}) > 0;
}

// Whether `entry`, an entry of the same rank after `recv`, can use the connection of `recv`.
bool uses_connection_of(const RecordEntry& entry, const RecordEntry& recv) {
  if (entry.kind == EntryKind::kWait) return true;
  return entry.kind == EntryKind::kCall && entry.group == recv.group &&
         (is_collective(entry.operation) || entry.peer == recv.peer || recv.any_source);
}

// Returns "ranks 0, 1: FACT (PLACE), so CONSEQUENCE" for each place.
std::vector<std::string> sentences_of(const Record& record, const RanksByPlace& by_place,
                                      const std::string& fact, const std::string& consequence) {
  std::vector<std::string> sentences;
  for (const auto& [place, ranks] : by_place) {
    std::string& sentence = sentences.emplace_back(
        with_place(record, rank_list_text(list_of(ranks)) + ": " + fact, place));
    sentence += ", so ";
    sentence += consequence;
  }
  return sentences;
}

}  // namespace

std::vector<std::string> dropped_sends(const Record& record) {
  RanksByPlace by_place;
  for (std::uint32_t rank = 0; rank < record.ranks.size(); ++rank) {
    const std::set<std::int64_t> dropped = dropped_works(record.ranks[rank]);
    for (const RecordEntry& entry : record.ranks[rank].entries) {
      if (is_send(entry) && dropped.count(entry.work) > 0) by_place[entry.place].insert(rank);
    }
  }
  return sentences_of(record, by_place, "nothing keeps the Work of a send",
                      "gloo cancels the message unless its recv was posted before");
}

std::vector<std::string> dropped_recvs(const Record& record, RecordRules rules) {
  const Messages sent = sent_messages(record);
  RanksByPlace by_place;
  for (std::uint32_t rank = 0; rank < record.ranks.size(); ++rank) {
    CallsByWork recvs;
    std::vector<const RecordEntry*> dropped;
    for (const RecordEntry& entry : record.ranks[rank].entries) {
      add_dropped(entry, recvs, dropped);
      for (const RecordEntry* recv : dropped) {
        if (uses_connection_of(entry, *recv)) by_place[recv->place].insert(rank);
      }
      const bool is_gloo_recv = entry.kind == EntryKind::kCall &&
                                entry.operation == Operation::kReceive &&
                                !record.groups[entry.group].under_nccl(rules);
      if (is_gloo_recv && is_met(entry, rank, sent)) recvs.emplace(entry.work, &entry);
    }
  }
  return sentences_of(record, by_place, "nothing keeps the Work of a recv",
                      "gloo breaks the connection of its ranks if the send comes later");
}

std::vector<std::string> closed_connections(const Record& record, RecordRules rules) {
  RanksByPlace by_place;
  for (std::uint32_t rank = 0; rank < record.ranks.size(); ++rank) {
    std::set<std::int64_t> messages;  // works of gloo's sends and recvs
    for (const RecordEntry& entry : record.ranks[rank].entries) {
      const bool is_message = entry.kind == EntryKind::kCall && !is_collective(entry.operation);
      if (is_message && !record.groups[entry.group].under_nccl(rules)) messages.insert(entry.work);
      if (entry.kind != EntryKind::kWait || !entry.timed_out || entry.at_exit) continue;
      const bool closes = std::any_of(entry.amounts.begin(), entry.amounts.end(),
                                      [&](std::int64_t work) { return messages.count(work) > 0; });
      if (closes) by_place[entry.place].insert(rank);
    }
  }
  return sentences_of(record, by_place, "a wait for a message timed out",
                      "gloo closes the rank's connections in this group");
}

Record with_cancelled_sends(Record record) {
  for (RankRecord& rank : record.ranks) {
    const std::set<std::int64_t> dropped = dropped_works(rank);
    std::erase_if(rank.entries, [&](const RecordEntry& entry) {
      return is_send(entry) && dropped.count(entry.work) > 0;
    });
  }
  return record;
}

std::vector<std::string> keys_set_twice(const Record& record) {
  std::map<std::uint32_t, std::uint32_t> set;  // by key (index in Record::texts): place of a set
  std::set<std::uint32_t> got;
  for (const RankRecord& rank : record.ranks) {
    for (const RecordEntry& entry : rank.entries) {
      if (entry.kind == EntryKind::kStoreSet && entry.differs) set.emplace(entry.text, entry.place);
      if (entry.kind == EntryKind::kStoreGet) got.insert(entry.text);
    }
  }
  std::vector<std::string> sentences;
  for (const auto& [key, place] : set) {
    if (got.count(key) == 0) continue;
    sentences.push_back(
        with_place(record, "several ranks set the key '" + record.texts[key] + "'", place) +
        "; a get returns what was set last");
  }
  return sentences;
}

std::vector<std::string> reads_of_made_up(const Record& record) {
  std::map<std::pair<std::uint32_t, std::int64_t>, RankNumbers> reads;  // ranks by place and bytes
  for (std::uint32_t rank = 0; rank < record.ranks.size(); ++rank) {
    for (const RecordEntry& entry : record.ranks[rank].entries) {
      if (entry.read_made_up) reads[{entry.place, entry.bytes}].insert(rank);
    }
  }
  std::vector<std::string> sentences;
  for (const auto& [read, ranks] : reads) {
    const auto& [place, bytes] = read;
    sentences.push_back(with_place(record,
                                   rank_list_text(list_of(ranks)) +
                                       (ranks.size() == 1 ? " reads" : " read") +
                                       " a value that was made up",
                                   place) +
                        "; --limit " + std::to_string(bytes) + "B carries it");
  }
  return sentences;
}

}  // namespace pipesim::models
