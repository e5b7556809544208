#include "features/record/first_difference.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "features/record/meetings.hpp"
#include "features/record/record_ends.hpp"
#include "features/record/record_text.hpp"

namespace pipesim::models {
namespace {

using Ranks = std::vector<std::uint32_t>;
using Arrivals = std::vector<Arrival>;

// Returns the frames of a stack, outermost first.
std::vector<std::uint32_t> stack_of(const Record& record, std::uint32_t frame) {
  std::vector<std::uint32_t> stack;
  for (; frame != kNotSaid; frame = record.frames[frame].up) stack.push_back(frame);
  std::reverse(stack.begin(), stack.end());
  return stack;
}

// The calls of one group, by sequence number.
class GroupCalls {
 public:
  GroupCalls(const Record& record, std::uint32_t group) : record_(record), group_(group) {}

  void add(std::int64_t number, const Arrivals& arrivals) { calls_.emplace(number, &arrivals); }

  std::uint32_t group() const { return group_; }
  const Arrivals* call(std::int64_t number) const {
    const auto found = calls_.find(number);
    return found == calls_.end() ? nullptr : found->second;
  }

  // Returns the members that did not make call `number`.
  Ranks missing(std::int64_t number) const {
    Ranks result;
    const Arrivals* arrivals = call(number);
    for (const std::uint32_t rank : record_.groups[group_].ranks) {
      const bool made = arrivals != nullptr &&
                        std::any_of(arrivals->begin(), arrivals->end(),
                                    [&](const Arrival& each) { return each.rank == rank; });
      if (!made) result.push_back(rank);
    }
    std::sort(result.begin(), result.end());
    return result;
  }

  // Returns the sequence number of the first mismatched call.
  std::optional<std::int64_t> mismatch() const {
    for (const auto& [number, arrivals] : calls_) {
      const RecordEntry& first = *arrivals->front().entry;
      const bool fits = std::all_of(arrivals->begin(), arrivals->end(),
                                    [&](const Arrival& each) { return fit(first, *each.entry); });
      if (!fits) return number;
      const Ranks absent = missing(number);
      if (absent.empty()) continue;
      // The further calls of a rank whose record was cut are unknown. A quiescent rank may be
      // blocked before this call, which then is no mismatch unless the ranks differed earlier.
      const bool known = std::all_of(absent.begin(), absent.end(), [&](std::uint32_t rank) {
        return !is_cut_short(record_.ranks[rank]);
      });
      const bool left = std::any_of(absent.begin(), absent.end(), [&](std::uint32_t rank) {
        return !stands_still(record_.ranks[rank]);
      });
      if (known && (left || differs(number - 1))) return number;
      return std::nullopt;
    }
    return std::nullopt;
  }

  // Whether ranks make call `number` from different places that are not partners.
  bool differs(std::int64_t number) const {
    const Arrivals* arrivals = call(number);
    if (arrivals == nullptr) return false;
    std::map<std::uint32_t, Arrivals> by_frame;
    for (const Arrival& each : *arrivals) by_frame[each.entry->frame].push_back(each);
    if (by_frame.size() < 2 || by_frame.count(kNotSaid) > 0) return false;
    if (by_frame.size() == 2 &&
        is_root_alone(by_frame.begin()->second, std::next(by_frame.begin())->second)) {
      return false;
    }
    const Arrival& first = arrivals->front();
    return std::any_of(arrivals->begin(), arrivals->end(), [&](const Arrival& each) {
      return each.entry->frame != first.entry->frame && !are_partners(first, each);
    });
  }

 private:
  static bool fit(const RecordEntry& a, const RecordEntry& b) {
    // record_checks.cpp compares the splits of an all_to_all pair by pair.
    if (!a.amounts.empty() && !b.amounts.empty()) return a.operation == b.operation;
    return same_signature(a, b);
  }

  // Whether the places of the two calls are partners; first_difference() defines partners.
  bool are_partners(const Arrival& a, const Arrival& b) const {
    const auto [known, is_new] =
        partners_.try_emplace(std::array{a.rank, a.entry->frame, b.rank, b.entry->frame}, false);
    if (is_new) known->second = find_partners(a, b);
    return known->second;
  }

  bool find_partners(const Arrival& a, const Arrival& b) const {
    std::size_t times = 0;
    for (const auto& [number, arrivals] : calls_) {
      const std::uint32_t of_a = frame_of(*arrivals, a.rank);
      const std::uint32_t of_b = frame_of(*arrivals, b.rank);
      if (of_a == b.entry->frame || of_b == a.entry->frame) return false;
      const bool meets_a = of_a == a.entry->frame;
      const bool meets_b = of_b == b.entry->frame;
      if (of_a != kNotSaid && of_b != kNotSaid && meets_a != meets_b) return false;
      if (meets_a && meets_b) ++times;
    }
    return times > 1;
  }

  static std::uint32_t frame_of(const Arrivals& arrivals, std::uint32_t rank) {
    const auto found = std::lower_bound(
        arrivals.begin(), arrivals.end(), rank,
        [](const Arrival& each, std::uint32_t wanted) { return each.rank < wanted; });
    return found == arrivals.end() || found->rank != rank ? kNotSaid : found->entry->frame;
  }

  const Record& record_;
  std::uint32_t group_;
  std::map<std::int64_t, const Arrivals*> calls_;
  mutable std::map<std::array<std::uint32_t, 4>, bool> partners_;
};

// The first difference in one group, and the entry at which each rank reaches the difference.
struct Candidate {
  const GroupCalls* calls = nullptr;
  std::int64_t number = 0;
  std::int64_t mismatch = 0;
  std::map<std::uint32_t, std::size_t> reached;  // [rank]: number of entries before its call

  // Whether this difference comes first. The lowest rank that reaches the two differences at
  // different entries decides.
  bool precedes(const Candidate& other) const {
    for (const auto& [rank, entries] : reached) {
      const auto found = other.reached.find(rank);
      if (found != other.reached.end() && found->second != entries) return entries < found->second;
    }
    return false;
  }
};

class DifferenceText {
 public:
  DifferenceText(const Record& record, const GroupCalls& calls) : record_(record), calls_(calls) {}

  // Returns the sides of call `number`: groups of ranks with the same call and place.
  std::vector<CallOfRanks> sides(std::int64_t number) {
    std::vector<std::pair<std::tuple<std::string, std::uint32_t>, Ranks>> made;
    const Arrivals* arrivals = calls_.call(number);
    if (arrivals != nullptr) {
      for (const Arrival& each : *arrivals) {
        std::tuple<std::string, std::uint32_t> key(call_text(record_, *each.entry),
                                                   each.entry->frame);
        const auto known = std::find_if(made.begin(), made.end(),
                                        [&](const auto& side) { return side.first == key; });
        if (known == made.end()) {
          made.push_back({std::move(key), {each.rank}});
        } else {
          known->second.push_back(each.rank);
        }
      }
    }
    std::vector<CallOfRanks> result;
    for (const auto& [key, ranks] : made) {
      const auto& [call, frame] = key;
      result.push_back({ranks, call, place_of(frame), callers(frame, made)});
    }
    add_missing(number, result);
    std::sort(result.begin(), result.end(), [](const CallOfRanks& a, const CallOfRanks& b) {
      return a.ranks.front() < b.ranks.front();
    });
    return result;
  }

 private:
  std::string place_of(std::uint32_t frame) const {
    return frame == kNotSaid ? std::string() : place_text(place_of_stack(record_.frames, frame));
  }

  // Adds the ranks that did not make call `number`, grouped by their state at the end of the
  // record.
  void add_missing(std::int64_t number, std::vector<CallOfRanks>& result) const {
    std::vector<CallOfRanks> absent;
    for (const std::uint32_t rank : calls_.missing(number)) {
      const std::string instead = end_text(record_, rank);
      const auto known = std::find_if(absent.begin(), absent.end(),
                                      [&](const auto& side) { return side.at == instead; });
      if (known == absent.end()) {
        absent.push_back({{rank}, {}, instead});
      } else {
        known->ranks.push_back(rank);
      }
    }
    result.insert(result.end(), absent.begin(), absent.end());
  }

  // Returns the lines that call `frame`, from the innermost to the line at which the stacks of the
  // sides part. Keeps the user's lines and the parting line; omits lines that the place of `frame`
  // already shows.
  template <typename Sides>
  std::vector<OutsideText> callers(std::uint32_t frame, const Sides& sides) const {
    const std::vector<std::uint32_t> own = stack_of(record_, frame);
    std::size_t part = own.size();
    for (const auto& [key, ranks] : sides) {
      const std::vector<std::uint32_t> other = stack_of(record_, std::get<1>(key));
      const auto ends = std::mismatch(own.begin(), own.end(), other.begin(), other.end());
      if (ends.first == own.end()) continue;
      part = std::min(part, static_cast<std::size_t>(ends.first - own.begin()));
    }
    const std::string place = place_of(frame);
    std::vector<OutsideText> lines;
    for (std::size_t i = own.size(); i-- > part;) {
      const RecordFrame& line = record_.frames[own[i]];
      if (line.library && i != part) continue;
      std::string text = line.at + (line.in.empty() ? "" : " " + line.in);
      if (place.find(text) == std::string::npos) lines.emplace_back(std::move(text));
    }
    return lines;
  }

  const Record& record_;
  const GroupCalls& calls_;
};

}  // namespace

std::optional<FirstDifference> first_difference(const Record& record) {
  const Meetings meetings = meetings_of(record);
  std::map<std::uint32_t, GroupCalls> groups;
  for (const auto& [key, arrivals] : meetings) {
    groups.try_emplace(key.first, record, key.first).first->second.add(key.second, arrivals);
  }
  std::optional<Candidate> best;
  for (const auto& [group, calls] : groups) {
    const std::optional<std::int64_t> mismatch = calls.mismatch();
    if (!mismatch) continue;
    Candidate found{&calls, *mismatch, *mismatch, {}};
    while (calls.differs(found.number - 1)) --found.number;
    for (const Arrival& each : *calls.call(found.number)) {
      found.reached[each.rank] =
          static_cast<std::size_t>(each.entry - record.ranks[each.rank].entries.data());
    }
    if (!best || found.precedes(*best)) best = std::move(found);
  }
  if (!best) return std::nullopt;
  DifferenceText text(record, *best->calls);
  FirstDifference result;
  result.group = group_text(record, best->calls->group());
  result.number = best->number;
  result.sides = text.sides(best->number);
  result.mismatch = best->mismatch;
  if (best->mismatch != best->number) result.there = text.sides(best->mismatch);
  return result;
}

}  // namespace pipesim::models
