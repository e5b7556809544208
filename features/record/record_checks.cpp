#include "features/record/record_checks.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include "models/units.hpp"

#include "features/record/free_answers.hpp"
#include "features/record/meetings.hpp"
#include "features/record/record_ends.hpp"
#include "features/record/record_text.hpp"
#include "features/record/thread_order.hpp"

namespace pipesim::models {
namespace {

using EntryKind = RecordEntry::Kind;
using Ranks = std::vector<std::uint32_t>;

// Maximum number of findings per kind; more would show nothing new.
constexpr std::size_t kMaxFindings = 5;

// A variant of one new_group call: its group, the ranks that make this call, and their line.
struct NewGroup {
  std::uint32_t group = 0;
  std::uint32_t place = 0;
  Ranks ranks;
};

std::map<std::int64_t, std::vector<NewGroup>> new_groups_of(const Record& record) {
  std::map<std::int64_t, std::vector<NewGroup>> made;
  for (std::uint32_t rank = 0; rank < record.ranks.size(); ++rank) {
    for (const RecordEntry& entry : record.ranks[rank].entries) {
      if (entry.kind != EntryKind::kNewGroup || entry.number < 0 || entry.later) continue;
      std::vector<NewGroup>& variants = made[entry.number];
      const auto known = std::find_if(variants.begin(), variants.end(), [&](const NewGroup& group) {
        return record.groups[group.group].ranks == record.groups[entry.group].ranks;
      });
      if (known == variants.end()) {
        variants.push_back({entry.group, entry.place, {rank}});
      } else {
        known->ranks.push_back(rank);
      }
    }
  }
  return made;
}

void check_new_groups(const Record& record, std::vector<RecordFinding>& findings) {
  for (const auto& [key, variants] : new_groups_of(record)) {
    if (variants.size() < 2) continue;
    const auto said = [&](const NewGroup& group) {
      const std::string place = record.place_of(group.place);
      return rank_list_text(group.ranks) + (group.ranks.size() == 1 ? " makes " : " make ") +
             "the group " + members_text(record.groups[group.group].ranks) +
             (place.empty() ? "" : " (" + place + ")");
    };
    RecordFinding finding;
    finding.code = Code::kNewGroupOrder;
    finding.message = "new_group is called in different orders: as number " + std::to_string(key) +
                      ", " + said(variants[0]) + ", and " + said(variants[1]);
    finding.notes.emplace_back(
        std::string("a group's number is its key in the store, so ranks of both meet under one key "
                    "and ") +
        (only_disjoint_groups_clash(record) ? "may hang" : "hang") +
        ": make all groups in the same order on all ranks");
    findings.push_back(std::move(finding));
    return;  // all later numbers also differ
  }
}

void check_lines(const Record& record, const Meetings& meetings,
                 std::vector<RecordFinding>& findings) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> reported;  // pairs of places with a finding
  for (const auto& [key, arrivals] : meetings) {
    const RecordEntry& first = *arrivals.front().entry;
    const bool fits = std::all_of(arrivals.begin(), arrivals.end(), [&](const Arrival& arrival) {
      return same_signature(first, *arrival.entry) && arrival.entry->place != kNotSaid;
    });
    if (!fits) continue;
    std::map<std::uint32_t, std::vector<Arrival>> by_place;
    for (const Arrival& arrival : arrivals) by_place[arrival.entry->place].push_back(arrival);
    if (by_place.size() < 2) continue;
    auto groups = by_place.begin();
    const auto& [place_a, here] = *groups;
    const auto& [place_b, there] = *std::next(groups);
    if (is_root_alone(here, there) || !reported.emplace(place_a, place_b).second) continue;
    const auto ranks = [](const std::vector<Arrival>& of) {
      Ranks result;
      for (const Arrival& arrival : of) result.push_back(arrival.rank);
      return rank_list_text(result);
    };
    RecordFinding finding;
    finding.code = Code::kOtherLine;
    finding.message =
        operation_name(first.operation) + " #" + std::to_string(key.second) + " on " +
        group_text(record, key.first) + " meets from different lines: " + ranks(here) + " from " +
        record.place_of(place_a) + "; " + ranks(there) + " from " + record.place_of(place_b);
    finding.notes.emplace_back(
        "operation, size and type fit, so nothing hangs here, but the values may be mixed up; a "
        "rank that calls once more or less is stuck later, elsewhere");
    findings.push_back(std::move(finding));
    if (reported.size() == kMaxFindings) return;
  }
}

// Compares the splits of each pair of ranks in each all_to_all with splits.
void check_splits(const Record& record, const Meetings& meetings,
                  std::vector<RecordFinding>& findings) {
  std::size_t found = 0;
  for (const auto& [key, arrivals] : meetings) {
    const RecordGroup& group = record.groups[key.first];
    const std::size_t count = group.ranks.size();
    std::vector<Arrival> split;
    std::copy_if(arrivals.begin(), arrivals.end(), std::back_inserter(split),
                 [&](const Arrival& arrival) {
                   return arrival.entry->operation == Operation::kAllToAll &&
                          arrival.entry->amounts.size() == 2 * count;
                 });
    std::vector<std::uint32_t> positions;
    for (const Arrival& arrival : split) positions.push_back(group.position(arrival.rank));
    for (std::size_t i = 0; i < split.size(); ++i) {
      for (std::size_t j = 0; j < split.size(); ++j) {
        const Arrival& from = split[i];
        const Arrival& to = split[j];
        const std::int64_t gives = from.entry->amounts[positions[j]];
        const std::int64_t takes = to.entry->amounts[count + positions[i]];
        if (gives == takes) continue;
        RecordFinding finding;
        finding.code = Code::kSplits;
        finding.message = "splits of all_to_all #" + std::to_string(key.second) + " on " +
                          group_text(record, key.first) + " disagree: rank " +
                          std::to_string(from.rank) + " gives " + std::to_string(gives) +
                          " bytes to rank " + std::to_string(to.rank) + " (" +
                          record.place_of(from.entry->place) + "), which expects " +
                          std::to_string(takes) + " (" + record.place_of(to.entry->place) + ")";
        finding.notes.emplace_back(
            "output_split_sizes of a rank must be the input_split_sizes of the others for it: "
            "exchange them first");
        findings.push_back(std::move(finding));
        if (++found == kMaxFindings) return;
      }
    }
  }
}

std::string times_text(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string cut_text(const Record& record, RecordEnd::Cut cut) {
  switch (cut) {
    case RecordEnd::Cut::kSteps:
      if (record.steps == 0) return "--steps ended the recording";
      return "'--steps " + std::to_string(record.steps) + "' ended the recording";
    case RecordEnd::Cut::kSeconds:
      if (record.seconds == 0) return "no progress for --seconds";
      return "no progress for " + times_text(static_cast<std::size_t>(record.seconds), "second") +
             " ('--seconds " + std::to_string(5 * record.seconds) + "' waits longer)";
    case RecordEnd::Cut::kMadeUp:
      return "what followed a made-up value means nothing";
    case RecordEnd::Cut::kKilled:
      return "its process was killed";
    case RecordEnd::Cut::kOutside:
      return "it did not come back to torch.distributed";
    case RecordEnd::Cut::kQuiescent:
      break;
  }
  return "nothing could be delivered any more";
}

// Describes the values that `--limit` left out, and the limit that would exchange all of them.
std::string cut_values_text(const Record& record) {
  if (record.limit == 0) return "values above --limit were not exchanged";
  std::int64_t largest = 0;
  for (const RankRecord& rank : record.ranks) {
    for (const RecordEntry& entry : rank.entries) {
      if (entry.kind != EntryKind::kCall) continue;
      const bool gathers =
          entry.operation == Operation::kAllGather || entry.operation == Operation::kGather;
      const auto members = static_cast<std::int64_t>(record.groups[entry.group].ranks.size());
      std::int64_t bytes = 0;
      if (__builtin_mul_overflow(entry.bytes, gathers ? members : 1, &bytes)) continue;
      largest = std::max(largest, bytes);
    }
  }
  constexpr std::int64_t kKiB = 1024;
  std::string text = "values above " + exact_bytes_text(record.limit) +
                     " were not exchanged: each rank made them up";
  if (largest <= record.limit) return text;
  return text + " ('--limit " + std::to_string(largest / kKiB + 1) + "KiB' exchanges all)";
}

// Returns the name of the assumption behind an entry; empty if there is none.
std::string note_of(const Record& record, const RecordEntry& entry) {
  if (entry.any_source) return "any_source";
  return entry.kind == EntryKind::kNote ? record.texts[entry.text] : "";
}

}  // namespace

std::map<std::int64_t, Ranks> clashing_new_groups(const Record& record) {
  std::map<std::int64_t, Ranks> result;
  for (const auto& [key, variants] : new_groups_of(record)) {
    if (variants.size() < 2) continue;
    std::set<std::uint32_t> members;
    for (const NewGroup& variant : variants) {
      const Ranks& ranks = record.groups[variant.group].ranks;
      members.insert(ranks.begin(), ranks.end());
    }
    result.emplace(key, Ranks(members.begin(), members.end()));
  }
  return result;
}

bool only_disjoint_groups_clash(const Record& record) {
  const std::map<std::int64_t, Ranks> clashes = clashing_new_groups(record);
  const auto made = new_groups_of(record);
  return !clashes.empty() && std::all_of(clashes.begin(), clashes.end(), [&](const auto& clash) {
    std::size_t members = 0;
    for (const NewGroup& variant : made.at(clash.first)) {
      members += record.groups[variant.group].ranks.size();
    }
    return members == clash.second.size();
  });
}

std::vector<RecordFinding> check_record(const Record& record) {
  std::vector<RecordFinding> findings;
  check_new_groups(record, findings);
  const Meetings meetings = uneven_meetings_of(record);
  check_splits(record, meetings, findings);
  check_lines(record, meetings, findings);
  return findings;
}

std::vector<std::string> record_basis(const Record& record) {
  std::vector<std::string> basis;
  std::size_t made_up = 0;
  const RecordEntry* first = nullptr;
  std::set<std::string> notes;
  std::map<RecordEnd::Cut, Ranks> cuts;
  for (std::uint32_t rank = 0; rank < record.ranks.size(); ++rank) {
    const RankRecord& of = record.ranks[rank];
    for (const RecordEntry& entry : of.entries) {
      made_up += entry.made_up ? 1 : 0;
      if (entry.made_up && first == nullptr) first = &entry;
      const std::string note = note_of(record, entry);
      if (!note.empty()) notes.insert(note);
    }
    if (of.end.kind == RecordEnd::Kind::kCut) cuts[of.end.cut].push_back(rank);
  }
  if (first != nullptr) {
    notes.erase("made_up");
    const std::string place = record.place_of(first->place);
    basis.push_back("the results of " + times_text(made_up, "call") + " were made up" +
                    (place.empty() ? "" : ", the first at " + place));
  }
  const std::map<std::string, std::string> words = {{"any_source", kAnySourceBasis},
                                                    {"made_up", "values were made up"},
                                                    {"cut_values", cut_values_text(record)},
                                                    {"store_delete", kDeletedKeyBasis},
                                                    {"threads", kThreadsBasis},
                                                    {"lock_order", kLockOrderBasis},
                                                    {"running_threads", kRunningThreadsBasis}};
  const std::string free_answers = free_answers_text(record);
  if (!free_answers.empty()) basis.push_back(free_answers);
  for (const char* counted : {"polls", "store_order", "time", "timeouts"}) notes.erase(counted);
  for (const std::string& note : notes) {
    const auto known = words.find(note);
    basis.push_back(known != words.end() ? known->second : note);
  }
  for (const auto& [cut, ranks] : cuts) {
    basis.push_back("the record of " + rank_list_text(ranks) +
                    " ends early: " + cut_text(record, cut));
  }
  return basis;
}

}  // namespace pipesim::models
