#include "features/diagnose/left_out_calls.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace pipesim::models {
namespace {

// The op and line of each collective of a rank in a group, by sequence number.
using Lines = std::map<std::uint64_t, std::pair<std::string, std::string>>;

Lines lines_of(const RankEvidence& rank, std::uint32_t group) {
  Lines lines;
  for (const RecordedCall& call : rank.calls) {
    const bool tells = !call.messages && call.group == group && !call.at.empty() &&
                       !call.ops.empty() && call.repeat == 0;
    if (tells) lines.emplace(call.sequence, std::pair(call.ops.front().name, call.at));
  }
  return lines;
}

// Returns the sequence number of the first call in `more` that `fewer` lacks, if each later call of
// `fewer` has the next number in `more`.
std::optional<std::uint64_t> left_out(const Lines& more, const Lines& fewer) {
  for (const auto& entry : fewer) {
    const std::uint64_t number = entry.first;
    const auto same = more.find(number);
    if (same == more.end()) return std::nullopt;
    if (same->second == entry.second) continue;
    const auto shifted = [&](const auto& own) {
      const auto next = more.find(own.first + 1);
      const bool is_beyond = own.first > number && own.first >= more.rbegin()->first;
      return own.first < number || is_beyond || (next != more.end() && next->second == own.second);
    };
    return std::all_of(fewer.begin(), fewer.end(), shifted) ? std::optional(number) : std::nullopt;
  }
  return std::nullopt;
}

std::string names_of(const std::set<std::uint32_t>& ranks) {
  constexpr std::size_t kMaxNamed = 8;
  if (ranks.size() > kMaxNamed) return std::to_string(ranks.size()) + " ranks";
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  std::size_t i = 0;
  for (const std::uint32_t rank : ranks) {
    if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(rank);
    ++i;
  }
  return text;
}

}  // namespace

std::vector<OutsideText> left_out_calls(const Evidence& evidence, const Diagnosis& diagnosis) {
  std::vector<OutsideText> notes;
  for (const CollectiveCheck& check : diagnosis.checks) {
    if (check.result == CheckResult::kMatched || check.called.empty()) continue;
    std::map<Lines, std::set<std::uint32_t>> ranks_with;
    for (const std::uint32_t rank : evidence.groups[check.group].ranks) {
      Lines lines = lines_of(evidence.ranks[rank], check.group);
      if (!lines.empty()) ranks_with[std::move(lines)].insert(rank);
    }
    // Reports each call once, with all ranks that left it out.
    std::map<std::pair<std::uint64_t, std::pair<std::string, std::string>>,
             std::pair<std::set<std::uint32_t>, std::set<std::uint32_t>>>
        found;
    for (const auto& [more, makers] : ranks_with) {
      for (const auto& [fewer, others] : ranks_with) {
        const auto number = left_out(more, fewer);
        if (!number) continue;
        auto& [made, lack] = found[{*number, more.at(*number)}];
        made.insert(makers.begin(), makers.end());
        lack.insert(others.begin(), others.end());
      }
    }
    for (const auto& [call, ranks] : found) {
      const auto& [made, lack] = ranks;
      std::string who = names_of(made);
      who.front() = 'R';
      notes.emplace_back(who + " called " + call.second.first + " at " + call.second.second +
                         " as #" + std::to_string(call.first) + ", which " + names_of(lack) +
                         " left out: after " + "it, " + (lack.size() == 1 ? "its" : "their") +
                         " numbers are one behind");
    }
  }
  return notes;
}

}  // namespace pipesim::models
