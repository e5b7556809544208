#include "models/record/thread_order.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

namespace pipesim::models {
namespace {

using EntryKind = RecordEntry::Kind;

// Calls with equal keys are matched in the order in which they come.
using OrderKey = std::tuple<std::uint32_t, bool, std::uint32_t, std::int64_t>;
using KeyOf = OrderKey (*)(const RecordEntry& entry);

// The first call of each thread, in the order of these.
using FirstCalls = std::vector<const RecordEntry*>;

OrderKey one_key(const RecordEntry& /*entry*/) { return {}; }

OrderKey gloo_key(const RecordEntry& entry) {
  if (is_collective(entry.operation)) return {entry.group, true, kNotSaid, 0};
  // A recv from any source takes what another recv of its tag waits for.
  const bool receives = entry.operation == Operation::kReceive;
  return {entry.group, false, receives ? kNotSaid : entry.peer, entry.tag};
}

std::string thread_text(const Record& record, const RecordEntry& entry) {
  std::string text =
      entry.thread == kNotSaid ? "the main thread" : "thread '" + record.texts[entry.thread] + "'";
  const std::string place = record.place_of(entry.place);
  return place.empty() ? text : text + " (" + place + ")";
}

// Where several threads make calls of one key: these. Else empty.
FirstCalls racing(const RankRecord& rank, KeyOf key_of) {
  std::map<OrderKey, FirstCalls> first;
  for (const RecordEntry& entry : rank.entries) {
    if (entry.kind != EntryKind::kCall || entry.later) continue;
    FirstCalls& of_key = first[key_of(entry)];
    const bool known = std::any_of(of_key.begin(), of_key.end(), [&](const RecordEntry* call) {
      return call->thread == entry.thread;
    });
    if (!known) of_key.push_back(&entry);
  }
  for (auto& [key, calls] : first) {
    if (calls.size() > 1) return std::move(calls);
  }
  return {};
}

std::vector<std::string> sentences(const Record& record, KeyOf key_of) {
  constexpr std::size_t kMaxThreads = 4;
  std::map<std::string, std::vector<std::uint32_t>> ranks_of;  // by what is said of them
  for (std::uint32_t rank = 0; rank < record.ranks.size(); ++rank) {
    const FirstCalls calls = racing(record.ranks[rank], key_of);
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

std::vector<std::string> threads_that_call(const Record& record) {
  return sentences(record, one_key);
}

std::vector<std::string> threads_that_race(const Record& record, RecordRules rules) {
  return sentences(record, record.uses_nccl(rules) ? one_key : gloo_key);
}

}  // namespace pipesim::models
