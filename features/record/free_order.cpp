#include "features/record/free_order.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "features/record/record_text.hpp"

namespace pipesim::models {
namespace {

using EntryKind = RecordEntry::Kind;
using RankNumbers = std::set<std::uint32_t>;
using RanksByPlace = std::map<std::uint32_t, RankNumbers>;

bool is_send(const RecordEntry& entry) {
  return entry.kind == EntryKind::kCall && entry.operation == Operation::kSend;
}

// Returns the works of sends and recvs whose Work object Python collected before a wait.
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

// The bytes of the largest send, by group, tag, sender and receiver.
using Messages =
    std::map<std::tuple<std::uint32_t, std::int64_t, std::uint32_t, std::uint32_t>, std::int64_t>;

Messages sent_messages(const Record& record) {
  Messages sent;
  for (std::uint32_t rank = 0; rank < record.ranks.size(); ++rank) {
    for (const RecordEntry& entry : record.ranks[rank].entries) {
      if (!is_send(entry)) continue;
      std::int64_t& bytes = sent[{entry.group, entry.tag, rank, entry.peer}];
      bytes = std::max(bytes, entry.bytes);
    }
  }
  return sent;
}

bool is_gloo_recv(const Record& record, RecordRules rules, const RecordEntry& entry) {
  return entry.kind == EntryKind::kCall && entry.operation == Operation::kReceive &&
         !record.groups[entry.group].under_nccl(rules);
}

using CallsByWork = std::map<std::int64_t, const RecordEntry*>;

// If `entry` drops Works, adds their calls in `calls` to `dropped`.
void add_dropped(const RecordEntry& entry, const CallsByWork& calls,
                 std::vector<const RecordEntry*>& dropped) {
  if (entry.kind != EntryKind::kDrop) return;
  for (const std::int64_t work : entry.amounts) {
    const auto call = calls.find(work);
    if (call != calls.end()) dropped.push_back(call->second);
  }
}

// Returns the bytes of the largest send that `recv`, a recv of `rank`, can match; -1 if there is
// none. For a recv from any source, every send to the rank with this tag counts.
std::int64_t bytes_met(const RecordEntry& recv, std::uint32_t rank, const Messages& sent) {
  if (!recv.any_source) {
    const auto found = sent.find({recv.group, recv.tag, recv.peer, rank});
    return found == sent.end() ? -1 : found->second;
  }
  std::int64_t bytes = -1;
  for (const auto& [ends, size] : sent) {
    const auto& [group, tag, from, to] = ends;
    if (group == recv.group && tag == recv.tag && to == rank) bytes = std::max(bytes, size);
  }
  return bytes;
}

// Whether `entry`, which follows `recv` on the same rank, can use the connection of `recv`.
bool uses_connection_of(const RecordEntry& entry, const RecordEntry& recv) {
  if (entry.kind == EntryKind::kWait) return true;
  return entry.kind == EntryKind::kCall && entry.group == recv.group &&
         (is_collective(entry.operation) || entry.peer == recv.peer || recv.any_source);
}

// Whether every rank waits for all ranks in gloo's reduce of `bytes` bytes (gloo/reduce.cc). The
// tensor has one chunk per rank, and the last chunks can be empty. Rank r waits for rank r - 1. For
// each chunk c with elements, except chunk r + 1, rank r also waits for ranks r + 1 to c - 1. So
// the last rank waits for all ranks unless the last two chunks are empty.
bool reduce_waits_for_all(std::int64_t ranks, std::int64_t bytes, std::int64_t element) {
  constexpr std::int64_t kMaxSegment = 1 << 20;
  if (ranks < 3 || bytes <= 0) return true;
  const auto divide_up = [](std::int64_t a, std::int64_t b) {
    return a / b + (a % b == 0 ? 0 : 1);
  };
  const std::int64_t wanted = std::min(divide_up(bytes, 2 * ranks), kMaxSegment);
  const std::int64_t segment = divide_up(wanted, element) * element;
  const std::int64_t segments = std::max(divide_up(bytes, segment), 2 * ranks);
  const std::int64_t chunk = divide_up(segments, ranks) * segment;
  return divide_up(bytes, chunk) >= ranks - 1;
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

DroppedRecvs dropped_recvs(const Record& record, RecordRules rules) {
  const Messages sent = sent_messages(record);
  RanksByPlace by_place;
  DroppedRecvs found;
  for (std::uint32_t rank = 0; rank < record.ranks.size(); ++rank) {
    CallsByWork recvs;
    std::vector<const RecordEntry*> dropped;
    for (const RecordEntry& entry : record.ranks[rank].entries) {
      add_dropped(entry, recvs, dropped);
      for (const RecordEntry* recv : dropped) {
        if (uses_connection_of(entry, *recv)) by_place[recv->place].insert(rank);
      }
      const bool counts = is_gloo_recv(record, rules, entry) && bytes_met(entry, rank, sent) >= 0;
      if (counts) recvs.emplace(entry.work, &entry);
    }
    for (const RecordEntry* recv : dropped) {
      found.any_smaller = found.any_smaller || bytes_met(*recv, rank, sent) > recv->bytes;
    }
  }
  found.breaking = sentences_of(record, by_place, "nothing keeps the Work of a recv",
                                "gloo breaks the connection of its ranks if the send comes later");
  return found;
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

std::optional<Record> with_early_reduces(const Record& record, RecordRules rules) {
  std::optional<Record> result;
  for (std::uint32_t rank = 0; rank < record.ranks.size(); ++rank) {
    std::set<std::int64_t> early;  // works of the rank's reduces that do not wait for all ranks
    for (std::size_t i = 0; i < record.ranks[rank].entries.size(); ++i) {
      const RecordEntry& entry = record.ranks[rank].entries[i];
      const bool counts =
          entry.kind == EntryKind::kCall && entry.operation == Operation::kReduce &&
          entry.peer != rank && entry.type != kNotSaid &&
          !record.groups[entry.group].under_nccl(rules) &&
          !reduce_waits_for_all(static_cast<std::int64_t>(record.groups[entry.group].ranks.size()),
                                entry.bytes, bytes_of_type(record.texts[entry.type]));
      if (!counts) continue;
      if (!result) result = record;
      result->ranks[rank].entries[i].sync = false;
      if (entry.work >= 0) early.insert(entry.work);
    }
    if (early.empty()) continue;
    for (RecordEntry& entry : result->ranks[rank].entries) {
      if (entry.kind != EntryKind::kWait) continue;
      entry.amounts.erase_if([&](std::int64_t work) { return early.count(work) > 0; });
    }
  }
  return result;
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
