#include "models/record/free_order.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace pipesim::models {
namespace {

using EntryKind = RecordEntry::Kind;
using RankNumbers = std::set<std::uint32_t>;

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

std::string with_place(const Record& record, std::string text, std::uint32_t place) {
  return place == kNotSaid ? text : text + " (" + record.place_of(place) + ")";
}

std::vector<std::uint32_t> list_of(const RankNumbers& ranks) {
  return {ranks.begin(), ranks.end()};
}

}  // namespace

std::vector<std::string> dropped_sends(const Record& record) {
  std::map<std::uint32_t, RankNumbers> by_place;
  for (std::uint32_t rank = 0; rank < record.ranks.size(); ++rank) {
    const std::set<std::int64_t> dropped = dropped_works(record.ranks[rank]);
    for (const RecordEntry& entry : record.ranks[rank].entries) {
      if (is_send(entry) && dropped.count(entry.work) > 0) by_place[entry.place].insert(rank);
    }
  }
  std::vector<std::string> sentences;
  for (const auto& [place, ranks] : by_place) {
    sentences.push_back(
        with_place(record, rank_list_text(list_of(ranks)) + ": nothing keeps the Work of a send",
                   place) +
        ", so gloo cancels the message unless its recv was posted before");
  }
  return sentences;
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
  std::map<std::uint32_t, std::uint32_t> set;  // key in Record::texts, to its place
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
