#include "features/diagnose/stall_reports.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pipesim::formats {
namespace {

constexpr std::size_t kMaxTensorsOfRank = 64;

}  // namespace

// Reads a list of Horovod's stall inspector: "Missing ranks:" (or "Stalled ranks:"), then "1:
// [allreduce.a, allreduce.b ...]" for each rank. `line` still has its label, because such a rank
// looks like a label.
bool StallReports::take_horovod(std::string_view line, const models::EvidencePlace& place) {
  if (line.find("tensors were submitted to be reduced, gathered or broadcasted by subset") !=
      std::string_view::npos) {
    return true;
  }
  if (line.ends_with("Missing ranks:") || line.ends_with("Stalled ranks:")) {
    within_ = true;
    return true;
  }
  if (!within_) return false;
  const std::size_t open = line.find(": [");
  const std::size_t digits =
      open == std::string_view::npos ? open : line.find_last_not_of("0123456789", open - 1) + 1;
  const auto rank = digits < open ? number_at<std::uint32_t>(line.substr(digits)) : std::nullopt;
  if (!rank || *rank >= models::kMaxEvidenceRanks) {
    within_ = false;
    return false;
  }
  Stalled& stalled = stalled_[*rank];
  stalled.place = place;
  std::string_view list = line.substr(open + 3);
  list = list.substr(0, list.find(']'));
  while (!list.empty() && stalled.tensors.size() < kMaxTensorsOfRank) {
    const std::size_t end = std::min(list.find_first_of(", "), list.size());
    const std::string_view tensor = list.substr(0, end);
    const bool is_new =
        !tensor.empty() && tensor != "..." &&
        std::find(stalled.tensors.begin(), stalled.tensors.end(), tensor) == stalled.tensors.end();
    if (is_new) stalled.tensors.emplace_back(tensor);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return true;
}

// Reads "participant for device ordinal 1, stream 0x5 waiting for all participants to arrive at
// rendezvous RendezvousKey{run_id=RunId: 8, global_devices=[0,1,2,3], ... op_id=534}". Also reads
// the form of newer versions, "This thread has been waiting for `initialize clique for rank 6;
// clique=devices=[0,6]; stream=0; run_id=7` for 10 seconds and may be stuck".
bool StallReports::take_xla(std::string_view text, const models::EvidencePlace& place) {
  constexpr std::string_view kKey = "RendezvousKey{";
  constexpr std::string_view kWaits = "This thread has been waiting for `";
  std::string key;
  std::optional<std::uint32_t> device;
  if (text.find("waiting for all participants") != std::string_view::npos) {
    device = number_after<std::uint32_t>(text, "device ordinal ");
    key = word_after(text, kKey, "}");
  } else if (text.find(kWaits) != std::string_view::npos) {
    const std::string_view name = word_after(text, kWaits, "`");
    device = number_after<std::uint32_t>(name, " for rank ");
    key = name.substr(std::min(name.find(';'), name.size()));
  }
  if (!device || key.empty()) return false;
  Rendezvous& meeting = meetings_[models::printable(key)];
  meeting.kind = word_after(key, "collective_op_kind=", ",}");
  meeting.id = number_after<std::uint64_t>(key, "op_id=");
  if (!meeting.id) meeting.id = number_after<std::uint64_t>(key, "run_id=");
  std::string_view list = word_after(key, "devices=[", "]");
  while (const auto member = number_at<std::uint32_t>(list)) {
    if (*member < models::kMaxEvidenceRanks) meeting.members.insert(*member);
    const std::size_t comma = list.find(',');
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  if (meeting.members.count(*device) > 0) meeting.waiting.emplace(*device, place);
  return true;
}

bool StallReports::take(const LogLine& line, const models::EvidencePlace& place) {
  const std::string whole = line.label + line.text;
  return take_horovod(trimmed(whole), place) || take_xla(trimmed(line.text), place);
}

std::uint32_t StallReports::ranks() const {
  std::uint32_t count = stalled_.empty() ? 0 : stalled_.rbegin()->first + 1;
  for (const auto& [key, meeting] : meetings_) {
    if (!meeting.members.empty()) count = std::max(count, *meeting.members.rbegin() + 1);
  }
  return count;
}

// Adds the first tensor that each rank misses as a call of all other listed ranks, because
// Horovod's coordinator lists all ranks that have not submitted a tensor.
void StallReports::add_horovod(models::Evidence& evidence) const {
  std::map<std::string, std::set<std::uint32_t>> missing;  // ranks by tensor
  for (const auto& [rank, stalled] : stalled_) {
    for (const std::string& tensor : stalled.tensors) missing[tensor].insert(rank);
  }
  std::set<std::set<std::uint32_t>> told;
  for (const auto& [rank, stalled] : stalled_) {
    if (stalled.tensors.empty() || !told.insert(missing.at(stalled.tensors.front())).second) {
      continue;
    }
    const std::string tensor = stalled.tensors.front();
    const auto number = static_cast<std::uint32_t>(evidence.groups.size());
    models::EvidenceGroup group;
    group.name = "horovod";
    group.all_members = false;
    for (const auto& [member, its] : stalled_) {
      group.ranks.push_back(member);
      models::RankEvidence& of = evidence.ranks[member];
      of.has_dump = true;
      if (missing.at(tensor).count(member) > 0) {
        of.progress.push_back({number, 0, -1, 0, false, its.place});
        continue;
      }
      models::RecordedCall call;
      call.group = number;
      call.sequence = 1;
      call.place = stalled.place;
      call.ops.emplace_back().name = tensor;
      of.calls.push_back(std::move(call));
    }
    evidence.groups.push_back(std::move(group));
  }
}

void StallReports::add_xla(models::Evidence& evidence) const {
  for (const auto& [key, meeting] : meetings_) {
    const auto number = static_cast<std::uint32_t>(evidence.groups.size());
    evidence.groups.push_back(
        {"rendezvous", "", {meeting.members.begin(), meeting.members.end()}, true});
    for (const auto& [rank, place] : meeting.waiting) {
      models::RecordedCall call;
      call.group = number;
      call.sequence = meeting.id.value_or(1);
      call.place = place;
      call.ops.emplace_back().name = meeting.kind.empty() ? "collective" : meeting.kind;
      evidence.ranks[rank].has_dump = true;
      evidence.ranks[rank].calls.push_back(std::move(call));
    }
  }
}

void StallReports::add_to(models::Evidence& evidence) const {
  add_horovod(evidence);
  add_xla(evidence);
}

void StallReports::add_notes(std::vector<models::OutsideText>& notes) const {
  for (const auto& [rank, stalled] : stalled_) {
    constexpr std::size_t kMaxNamed = 3;
    std::vector<std::string> names(stalled.tensors.begin(), stalled.tensors.end());
    const std::size_t count = names.size();
    names.resize(std::min(kMaxNamed, count));
    notes.emplace_back(
        fmt::format("Horovod waits for rank {} to submit {}{}", rank, fmt::join(names, ", "),
                    count > kMaxNamed ? fmt::format(" and {} more", count - kMaxNamed) : ""));
  }
  for (const auto& [key, meeting] : meetings_) {
    std::vector<std::uint32_t> silent;
    for (const std::uint32_t member : meeting.members) {
      if (meeting.waiting.count(member) == 0) silent.push_back(member);
    }
    if (silent.empty()) continue;
    constexpr std::size_t kMaxSilent = 16;
    silent.resize(std::min(kMaxSilent, silent.size()));
    notes.emplace_back(fmt::format(
        "XLA: {} of {} devices wait in a rendezvous; no line shows that device{} {} {} arrived. "
        "Devices stand for ranks here",
        meeting.waiting.size(), meeting.members.size(), silent.size() == 1 ? "" : "s",
        fmt::join(silent, ", "), silent.size() == 1 ? "has" : "have"));
  }
}

}  // namespace pipesim::formats
