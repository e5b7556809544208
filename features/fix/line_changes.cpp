#include "features/fix/line_changes.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "features/record/record_ends.hpp"
#include "features/record/record_text.hpp"

namespace pipesim::models {
namespace {

using EntryKind = RecordEntry::Kind;
using ChangeKind = LineChange::Kind;

constexpr std::size_t kMaxFound = 3;  // the same limit as for changes of a script

bool is_made(const RecordEntry& entry) {
  return entry.kind == EntryKind::kCall && !entry.later && entry.place != kNotSaid;
}

std::size_t calls_of(const RankRecord& rank) {
  return static_cast<std::size_t>(std::count_if(rank.entries.begin(), rank.entries.end(), is_made));
}

// Renumbers the collectives of each group in call order, from their smallest number.
void renumber(RankRecord& rank) {
  const auto is_numbered = [](const RecordEntry& entry) {
    return entry.kind == EntryKind::kCall && is_collective(entry.operation);
  };
  std::map<std::uint32_t, std::int64_t> next;  // next number, by group
  for (const RecordEntry& entry : rank.entries) {
    if (!is_numbered(entry)) continue;
    const auto [first, is_new] = next.try_emplace(entry.group, entry.number);
    if (!is_new) first->second = std::min(first->second, entry.number);
  }
  for (RecordEntry& entry : rank.entries) {
    if (is_numbered(entry)) entry.number = next[entry.group]++;
  }
}

// Removes the waits, polls and drops of `works`.
void remove_waits(RankRecord& rank, const std::set<std::int64_t>& works) {
  if (works.empty()) return;
  std::erase_if(rank.entries, [&](RecordEntry& entry) {
    const bool is_about_works = entry.kind == EntryKind::kWait || entry.kind == EntryKind::kPoll ||
                                entry.kind == EntryKind::kDrop;
    if (!is_about_works || entry.amounts.empty()) return false;
    entry.amounts.erase_if([&](std::int64_t work) { return works.count(work) > 0; });
    return entry.amounts.empty();
  });
}

// Drops calls whose matching call is missing in the record of another rank, and cuts the records
// that lose calls. Ranks in `unknown` lost the call that blocked them, so their next call is
// unknown and their records are cut first.
void end_records(Record& record, const std::set<std::uint32_t>& unknown) {
  for (RankRecord& rank : record.ranks) {
    std::erase_if(rank.entries, [](const RecordEntry& entry) { return entry.later; });
  }
  for (const std::uint32_t rank : unknown) record.ranks[rank].end = {};
  for (bool again = true; again;) {
    std::vector<std::size_t> before;
    for (const RankRecord& rank : record.ranks) before.push_back(calls_of(rank));
    drop_calls_after_cuts(record);
    again = false;
    for (std::size_t rank = 0; rank < record.ranks.size(); ++rank) {
      if (calls_of(record.ranks[rank]) == before[rank]) continue;
      record.ranks[rank].end = {};
      again = true;
    }
  }
  add_later_calls(record);
}

// Two lines whose calls, in this order, close a cycle.
struct CallOrder {
  OutsideText first;   // the line called first
  OutsideText behind;  // the later line; empty: a call that the record does not show

  friend auto operator<=>(const CallOrder&, const CallOrder&) = default;
};

class LineSearch {
 public:
  LineSearch(const Record& record, const Explanation& hang,
             const std::function<bool(const Record&)>& completes)
      : record_(record), hang_(hang), completes_(completes) {}

  LineChanges run();

 private:
  struct Callers {
    std::set<std::uint32_t> ranks;
    std::set<std::uint32_t> members;  // members of the groups of the line's collectives
  };

  void find_lines();
  void try_without(std::uint32_t place);
  void try_isend(std::uint32_t place);
  void try_orders();
  void try_order(const CallOrder& order, const std::vector<std::uint32_t>& ranks);
  std::string unseen_text(const RecordEntry& entry) const;
  void keep(Record variant, LineChange change);
  std::string line_text(std::uint32_t place) const { return record_.place_of(place); }
  bool is_at(const RecordEntry& entry, const OutsideText& line) const {
    if (line.empty()) return entry.kind == EntryKind::kCall && entry.later;
    return entry.place != kNotSaid && line_text(entry.place) == line;
  }

  const Record& record_;
  const Explanation& hang_;
  const std::function<bool(const Record&)>& completes_;
  // lines of calls that hang or differ: indices in Record::places
  std::vector<std::uint32_t> lines_;
  std::map<std::uint32_t, Callers> callers_;
  LineChanges result_;
};

// Checks `variant` and keeps `change` among the changes that help or the others. Quiescent ranks
// may get further in the variant, so they no longer block at the end of the record.
void LineSearch::keep(Record variant, LineChange change) {
  for (RankRecord& rank : variant.ranks) {
    if (stands_still(rank)) rank.end = {};
  }
  (completes_(variant) ? result_.found : result_.tried).push_back(std::move(change));
}

void LineSearch::find_lines() {
  std::set<std::string> wanted;
  const auto want = [&](const WaitParty& party) {
    if (party.kind == sim::WaitNodeKind::kOp && !party.op.at.empty()) wanted.insert(party.op.at);
  };
  for (const Wait& wait : hang_.cycle) {
    want(wait.from);
    want(wait.to);
  }
  for (const Misfit& misfit : hang_.mismatches) {
    for (const OpInfo* op : {&misfit.first, &misfit.second}) wanted.insert(op->at);
  }
  for (std::uint32_t rank = 0; rank < record_.ranks.size(); ++rank) {
    for (const RecordEntry& entry : record_.ranks[rank].entries) {
      if (!is_made(entry)) continue;
      const auto [callers, is_new] = callers_.try_emplace(entry.place);
      if (is_new && wanted.count(line_text(entry.place)) > 0) lines_.push_back(entry.place);
      callers->second.ranks.insert(rank);
      if (!is_collective(entry.operation)) continue;
      const std::vector<std::uint32_t>& members = record_.groups[entry.group].ranks;
      callers->second.members.insert(members.begin(), members.end());
    }
  }
}

// Tries the record without the calls of a line that some members of its groups never reach. A rank
// that is blocked in such a call would continue, but the record does not show its next call.
void LineSearch::try_without(std::uint32_t place) {
  const Callers& callers = callers_[place];
  if (callers.ranks.size() >= callers.members.size()) return;
  Record variant = record_;
  std::set<std::uint32_t> unknown;
  std::size_t behind = 0;
  for (const std::uint32_t number : callers.ranks) {
    RankRecord& rank = variant.ranks[number];
    std::set<std::int64_t> works;
    std::size_t later_calls = 0;
    std::erase_if(rank.entries, [&](const RecordEntry& entry) {
      if (!is_made(entry)) return false;
      if (entry.place != place) {
        ++later_calls;
        return false;
      }
      later_calls = 0;
      if (entry.work >= 0) works.insert(entry.work);
      return true;
    });
    remove_waits(rank, works);
    renumber(rank);
    if (later_calls == 0 && stands_still(rank)) unknown.insert(number);
    behind += later_calls;
  }
  end_records(variant, unknown);
  const std::vector<std::uint32_t> ranks(callers.ranks.begin(), callers.ranks.end());
  keep(std::move(variant),
       {ChangeKind::kDrop,
        fmt::format("without {}, which only {} {} in this record", line_text(place),
                    rank_list_text(ranks), ranks.size() == 1 ? "calls" : "call"),
        behind});
}

// Tries isend for the sends of a line: the sends do not wait for their recvs, and the script waits
// for the sends after its next recv.
void LineSearch::try_isend(std::uint32_t place) {
  Record variant = record_;
  bool sends = false;
  for (RankRecord& rank : variant.ranks) {
    std::set<std::int64_t> works;
    for (RecordEntry& entry : rank.entries) {
      if (!is_made(entry) || entry.place != place || entry.operation != Operation::kSend) continue;
      sends = true;
      if (entry.work >= 0) works.insert(entry.work);
      entry.sync = entry.blocks_host = false;
      entry.work = -1;
    }
    remove_waits(rank, works);
  }
  if (!sends) return;
  keep(std::move(variant),
       {ChangeKind::kIsend,
        fmt::format("{} as isend, with its wait after the next recv", line_text(place)), 0});
}

// Describes a call that the record does not show.
std::string LineSearch::unseen_text(const RecordEntry& entry) const {
  const std::uint32_t place = record_.groups[entry.group].place;
  return fmt::format(
      "{} on {}", operation_name(entry.operation),
      place == kNotSaid ? group_text(record_, entry.group) : "the group of " + line_text(place));
}

// Tries the two calls of `order` in reverse order on `ranks`.
void LineSearch::try_order(const CallOrder& order, const std::vector<std::uint32_t>& ranks) {
  Record variant = record_;
  std::set<std::string> moved;
  for (const std::uint32_t number : ranks) {
    RankRecord& rank = variant.ranks[number];
    auto first = rank.entries.end();
    for (auto entry = rank.entries.begin(); entry != rank.entries.end(); ++entry) {
      if (is_at(*entry, order.first)) first = entry;
      if (first == rank.entries.end() || !is_at(*entry, order.behind)) continue;
      moved.insert(order.behind.empty() ? unseen_text(*entry) : std::string(order.behind));
      std::rotate(first, entry, entry + 1);
      first = order.behind.empty() ? first + 1 : rank.entries.end();
    }
    renumber(rank);
  }
  if (moved.empty()) return;
  keep(std::move(variant), {ChangeKind::kOrder,
                            fmt::format("{} before {} on {}", fmt::join(moved, " and "),
                                        std::string(order.first), rank_list_text(ranks)),
                            0});
}

// Tries each pair of calls that closes the cycle in reverse order: on all ranks that make the calls
// in this order, then only on the odd ranks among them.
void LineSearch::try_orders() {
  std::map<CallOrder, std::set<std::uint32_t>> orders;
  for (const Wait& wait : hang_.cycle) {
    const bool is_op = wait.to.kind == sim::WaitNodeKind::kOp && !wait.to.op.at.empty();
    const bool of_rank = wait.from.kind == sim::WaitNodeKind::kOp && wait.from.rank == wait.to.rank;
    if (!is_op || (!wait.needed && !of_rank)) continue;
    const OpInfo& behind = wait.needed ? *wait.needed : wait.from.op;
    if (behind.at != wait.to.op.at) orders[{wait.to.op.at, behind.at}].insert(wait.to.rank);
  }
  for (const auto& [order, waiting] : orders) {
    std::vector<std::uint32_t> ranks(waiting.begin(), waiting.end());
    try_order(order, ranks);
    const auto odd = std::erase_if(ranks, [](std::uint32_t rank) { return rank % 2 == 0; });
    if (odd > 0 && !ranks.empty()) try_order(order, ranks);
  }
}

LineChanges LineSearch::run() {
  find_lines();
  for (const std::uint32_t place : lines_) try_without(place);
  for (const std::uint32_t place : lines_) try_isend(place);
  try_orders();
  if (result_.found.size() > kMaxFound) result_.found.resize(kMaxFound);
  return std::move(result_);
}

}  // namespace

LineChanges find_line_changes(const Record& record, const Explanation& hang,
                              const std::function<bool(const Record&)>& completes) {
  return LineSearch(record, hang, completes).run();
}

}  // namespace pipesim::models
