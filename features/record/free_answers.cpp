#include "features/record/free_answers.hpp"

#include <array>
#include <cstddef>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace pipesim::models {
namespace {

using EntryKind = RecordEntry::Kind;

// A kind of free answer. If a script's answers were not counted, its record has only the note.
struct FreeKind {
  std::string_view name;
  std::string_view note;
  std::string_view one;
  std::string_view many;
};

constexpr std::array<FreeKind, 8> kKinds{{
    {"poll", "polls", "poll", "polls"},
    {"clock", "time", "deadline", "deadlines"},
    {"timeout", "timeouts", "timeout", "timeouts"},
    {"store", "store_order", "store call", "store calls"},
    {"random", "", "random number", "random numbers"},
    {"queue", "", "queue", "queues"},
    {"thread", "", "state of a thread", "states of threads"},
    {"file", "", "file", "files"},
}};

// Counts the files that one rank changes and another rank uses.
std::size_t shared_files(const Record& record) {
  std::map<std::uint32_t, std::set<std::size_t>> users;
  std::set<std::uint32_t> changed;
  for (std::size_t rank = 0; rank < record.ranks.size(); ++rank) {
    for (const FreeAnswer& answer : record.ranks[rank].free_answers) {
      if (answer.path == kNotSaid) continue;
      users[answer.path].insert(rank);
      if (answer.writes) changed.insert(answer.path);
    }
  }
  std::size_t shared = 0;
  for (const std::uint32_t path : changed) shared += users[path].size() > 1 ? 1U : 0U;
  return shared;
}

// Counts the free answers of a record, in the order of `kKinds`.
std::array<std::size_t, kKinds.size()> count_answers(const Record& record) {
  std::map<std::string, std::size_t, std::less<>> answers;
  std::map<std::string, std::size_t, std::less<>> notes;
  for (const RankRecord& rank : record.ranks) {
    for (const FreeAnswer& answer : rank.free_answers) {
      if (answer.path == kNotSaid) ++answers[record.texts[answer.kind]];
    }
    for (const RecordEntry& entry : rank.entries) {
      if (entry.kind == EntryKind::kPoll && !entry.never) ++answers["poll"];
      if (entry.kind == EntryKind::kNote) ++notes[record.texts[entry.text]];
    }
  }
  answers["file"] = shared_files(record);
  std::array<std::size_t, kKinds.size()> counts{};
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    counts[i] = answers[std::string(kKinds[i].name)];
    if (counts[i] == 0) counts[i] = notes[std::string(kKinds[i].note)];
  }
  return counts;
}

}  // namespace

std::string free_answers_text(const Record& record) {
  const auto counts = count_answers(record);
  std::string parts;
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (counts[i] == 0) continue;
    parts += (parts.empty() ? "" : ", ") + std::to_string(counts[i]) + " ";
    parts += counts[i] == 1 ? kKinds[i].one : kKinds[i].many;
  }
  if (parts.empty()) return "";
  const std::size_t all = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  return std::to_string(all) + (all == 1 ? " free answer (" : " free answers (") + parts +
         "): pipesim explore tries the others";
}

}  // namespace pipesim::models
