#include "features/record/thread_order.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

namespace pipesim::models {
namespace {

using EntryKind = RecordEntry::Kind;

// The key by which calls match: calls with equal keys match in call order.
using OrderKey = std::tuple<std::uint32_t, bool, std::uint32_t, std::int64_t>;
using KeyOf = std::function<OrderKey(const RecordEntry& entry)>;

// The first call of each thread, in call order.
using FirstCalls = std::vector<const RecordEntry*>;

OrderKey one_key(const RecordEntry& /*entry*/) { return {kNotSaid, false, 0, 0}; }

OrderKey gloo_key(const RecordEntry& entry) {
  if (is_collective(entry.operation)) return {entry.group, true, kNotSaid, 0};
  // A recv from any source can take a send meant for any other recv with its tag.
  const bool receives = entry.operation == Operation::kReceive;
  return {entry.group, false, receives ? kNotSaid : entry.peer, entry.tag};
}

std::string thread_text(const Record& record, const RecordEntry& entry) {
  std::string text = entry.thread == kNotSaid
                         ? "the main thread"
                         : "thread '" + thread_name(record.texts[entry.thread]) + "'";
  const std::string place = record.place_of(entry.place);
  return place.empty() ? text : text + " (" + place + ")";
}

using Numbers = std::map<std::uint32_t, std::int64_t>;  // [thread]: a number of calls

// The calls with one key.
struct KeyCalls {
  FirstCalls first;
  Numbers last;       // [thread]: number of its last call
  bool race = false;  // whether two calls of different threads have no known order

  // Adds call `number` of a thread, which certainly follows the `known` calls of other threads.
  void add(const RecordEntry& entry, std::int64_t number, const Numbers& known) {
    for (const auto& [thread, other] : last) {
      const auto found = known.find(thread);
      const std::int64_t before = found == known.end() ? 0 : found->second;
      race = race || (thread != entry.thread && other > before);
    }
    if (last.count(entry.thread) == 0) first.push_back(&entry);
    last[entry.thread] = number;
  }
};

// Whether the entry is a call of the script, or the destroy of a group, which counts as one.
bool counts(const RecordEntry& entry) {
  return (entry.kind == EntryKind::kCall || entry.kind == EntryKind::kDestroy) && !entry.later;
}

bool calls_in_one_thread(const RankRecord& rank) {
  const RecordEntry* first = nullptr;
  for (const RecordEntry& entry : rank.entries) {
    if (!counts(entry)) continue;
    if (first == nullptr) first = &entry;
    if (entry.thread != first->thread) return false;
  }
  return true;
}

// Returns the first call of each thread for the first key whose calls race; empty if none race.
FirstCalls racing(const Record& record, const RankRecord& rank, const KeyOf& key_of) {
  if (calls_in_one_thread(rank)) return {};
  Numbers made;                            // [thread]: number of its calls
  std::map<std::uint32_t, Numbers> known;  // [thread]: calls that precede its next call
  std::map<OrderKey, KeyCalls> keys;
  for (const RecordEntry& entry : rank.entries) {
    if (!counts(entry)) continue;
    Numbers& earlier = known[entry.thread];
    for (const auto& [thread, calls] : entry.after) {
      earlier[thread] = std::max(earlier[thread], calls);
    }
    const std::int64_t number = ++made[entry.thread];
    if (entry.kind == EntryKind::kCall) {
      keys[key_of(entry)].add(entry, number, earlier);
      continue;
    }
    const bool all = record.groups[entry.group].name == "0";
    for (auto& [key, calls] : keys) {
      const std::uint32_t group = std::get<0>(key);
      if (all || group == entry.group || group == kNotSaid) calls.add(entry, number, earlier);
    }
  }
  for (auto& [key, calls] : keys) {
    if (calls.race) return std::move(calls.first);
  }
  return {};
}

std::vector<std::string> sentences(const Record& record, const KeyOf& key_of) {
  constexpr std::size_t kMaxThreads = 4;
  std::map<std::string, std::vector<std::uint32_t>> ranks_of;  // ranks by text
  for (std::uint32_t rank = 0; rank < record.ranks.size(); ++rank) {
    const FirstCalls calls = racing(record, record.ranks[rank], key_of);
    if (calls.empty()) continue;
    std::string text;
    const std::size_t shown = std::min(calls.size(), kMaxThreads);
    for (std::size_t i = 0; i < shown; ++i) {
      const bool last = i + 1 == calls.size();
      text += (i == 0 ? "" : last ? " and " : ", ") + thread_text(record, *calls[i]);
    }
    if (shown < calls.size()) text += " and " + std::to_string(calls.size() - shown) + " more";
    ranks_of[text].push_back(rank);
  }
  std::vector<std::pair<std::vector<std::uint32_t>, std::string>> by_rank;
  for (auto& [text, ranks] : ranks_of) by_rank.emplace_back(std::move(ranks), text);
  std::sort(by_rank.begin(), by_rank.end());
  std::vector<std::string> result;
  for (const auto& [ranks, text] : by_rank) {
    result.push_back(rank_list_text(ranks) + ": " + text +
                     " call concurrently, in an order that may differ from the recorded one");
  }
  return result;
}

}  // namespace

std::string thread_name(const std::string& label) {
  const std::size_t mark = label.rfind('#');
  const bool numbered = mark != std::string::npos && mark + 1 < label.size() &&
                        label.find_first_not_of("0123456789", mark + 1) == std::string::npos;
  return numbered ? label.substr(0, mark) : label;
}

std::vector<std::string> threads_that_call(const Record& record) {
  return sentences(record, one_key);
}

std::vector<std::string> threads_that_race(const Record& record, RecordRules rules) {
  return sentences(record, [&](const RecordEntry& entry) {
    return record.groups[entry.group].under_nccl(rules) ? one_key(entry) : gloo_key(entry);
  });
}

}  // namespace pipesim::models
