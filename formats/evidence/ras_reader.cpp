#include "formats/evidence/ras_reader.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "formats/evidence/log_lines.hpp"
#include "models/graph/operation.hpp"

namespace pipesim::formats {
namespace {

using Range = std::pair<std::int64_t, std::int64_t>;  // the least count and the largest

Range widened(const std::optional<Range>& range, std::int64_t count) {
  if (!range) return {count, count};
  return {std::min(range->first, count), std::max(range->second, count)};
}

// One in any communicator says that the job hangs: then a rank that lags there may wait in another
// one, where it is ahead by one.
bool has_large_difference(const RasReport& report) {
  for (const auto& [hash, communicator] : report.communicators) {
    std::map<std::string, std::optional<Range>> ranges;
    for (const auto& [rank, member] : communicator.members) {
      for (const auto& [op, count] : member.counts) ranges[op] = widened(ranges[op], count);
    }
    const bool large = std::any_of(ranges.begin(), ranges.end(), [](const auto& it) {
      return it.second->second > it.second->first + 1;
    });
    if (large) return true;
  }
  return false;
}

std::optional<std::int64_t> count_of(const RasReport& report, const std::string& hash,
                                     const std::string& op, std::uint32_t rank) {
  const auto communicator = report.communicators.find(hash);
  if (communicator == report.communicators.end()) return std::nullopt;
  const auto member = communicator->second.members.find(rank);
  if (member == communicator->second.members.end()) return std::nullopt;
  const auto count = member->second.counts.find(op);
  return count == member->second.counts.end() ? std::nullopt : std::optional(count->second);
}

// Evidence from one report. Ranks of the job are those of its largest communicator.
class RasEvidence {
 public:
  RasEvidence(const RasReport& report, models::Evidence& evidence)
      : report_(report), evidence_(evidence) {}

  bool begin();

  // One operation of a communicator, whose counts differ.
  struct Count {
    const RasMember* member = nullptr;
    std::uint32_t job = 0;
    std::int64_t count = 0;
  };
  std::vector<Count> counts(const RasCommunicator& communicator, const std::string& op) const;
  void add(const RasCommunicator& communicator, models::Operation operation,
           const std::vector<Count>& counts, std::int64_t least);

 private:
  std::optional<std::uint32_t> job_rank(const RasCommunicator& communicator,
                                        const RasMember& member) const;

  const RasReport& report_;
  models::Evidence& evidence_;
  const RasCommunicator* world_ = nullptr;
  std::map<std::string, std::uint32_t> rank_of_;  // by process
};

bool RasEvidence::begin() {
  evidence_.lost_processes = report_.lost;
  for (const auto& [hash, it] : report_.communicators) {
    if (world_ == nullptr || it.size > world_->size) world_ = &it;
  }
  if (world_ == nullptr) return false;
  std::uint32_t ranks = world_->size;
  for (const auto& [rank, member] : world_->members) ranks = std::max(ranks, rank + 1);
  evidence_.ranks.resize(ranks);
  for (models::RankEvidence& rank : evidence_.ranks) rank.complete = false;
  for (const auto& [rank, member] : world_->members) {
    if (!member.process.empty()) rank_of_.emplace(member.process, rank);
    evidence_.ranks[rank].process = {member.state, member.process, {}, member.place};
  }
  return true;
}

std::optional<std::uint32_t> RasEvidence::job_rank(const RasCommunicator& communicator,
                                                   const RasMember& member) const {
  if (communicator.size == world_->size) {
    return member.rank < evidence_.ranks.size() ? std::optional(member.rank) : std::nullopt;
  }
  const auto known = rank_of_.find(member.process);
  return known == rank_of_.end() ? std::nullopt : std::optional(known->second);
}

std::vector<RasEvidence::Count> RasEvidence::counts(const RasCommunicator& communicator,
                                                    const std::string& op) const {
  std::vector<Count> result;
  for (const auto& [rank, member] : communicator.members) {
    const auto job = job_rank(communicator, member);
    const auto count = member.counts.find(op);
    if (job && count != member.counts.end()) result.push_back({&member, *job, count->second});
  }
  return result;
}

void RasEvidence::add(const RasCommunicator& communicator, models::Operation operation,
                      const std::vector<Count>& counts, std::int64_t least) {
  const auto group = static_cast<std::uint32_t>(evidence_.groups.size());
  std::set<std::uint32_t> members;
  for (const Count& it : counts) members.insert(it.job);
  evidence_.groups.push_back({"communicator " + communicator.hash,
                              "",
                              {members.begin(), members.end()},
                              members.size() == communicator.size});
  for (const Count& it : counts) {
    models::RankEvidence& of = evidence_.ranks[it.job];
    of.has_dump = true;
    of.progress.push_back({group, it.count, -1, models::kUncounted, false, it.member->place});
    if (it.count == least) continue;
    // What one has not launched, nobody has done.
    models::RecordedCall call;
    call.group = group;
    call.sequence = static_cast<std::uint64_t>(least + 1);
    call.last_record = of.calls.size() + 1;
    call.place = it.member->place;
    call.ops.emplace_back().name = models::operation_name(operation);
    call.ops.back().record = call.last_record;
    of.calls.push_back(std::move(call));
  }
}

Range range_of(const std::vector<RasEvidence::Count>& counts) {
  std::optional<Range> range;
  for (const auto& it : counts) range = widened(range, it.count);
  return range.value_or(Range(0, 0));
}

// "Communicator ab12: rank 7 is behind in AllReduce, at 60, of 7 ranks that have launched up to
// 64".
std::string difference_note(const RasCommunicator& communicator, const std::string& op,
                            const std::map<std::int64_t, std::vector<std::uint32_t>>& counts,
                            bool may_pass) {
  const auto& [least, behind] = *counts.begin();
  const std::int64_t most = counts.rbegin()->first;
  std::size_t ahead = 0;
  for (const auto& [count, ranks] : counts) ahead += count > least ? ranks.size() : 0U;
  constexpr std::size_t kFew = 8;
  const std::string who =
      behind.size() > kFew
          ? fmt::format("{} ranks", behind.size())
          : fmt::format("rank{} {}", behind.size() == 1 ? "" : "s", fmt::join(behind, ", "));
  const std::string others =
      ahead == 1 ? "1 rank that has" : fmt::format("{} ranks that have", ahead);
  return fmt::format(
      "Communicator {}: {} {} behind in {}, at {}, of {} launched up to {}{}", communicator.hash,
      who, behind.size() == 1 ? "is" : "are", op, least, others, most,
      most - least == 1 && may_pass ? "; a difference of 1 may pass by itself: run ncclras again"
                                    : "");
}

}  // namespace

bool RasReader::read(const std::string& text, models::Diagnostics& diagnostics,
                     const std::string& name) {
  if (text.size() > kMaxRasBytes) {
    diagnostics.error({}, models::Code::kLimit,
                      fmt::format("a report of RAS can have at most {} MiB", kMaxRasBytes >> 20));
    return false;
  }
  const auto file = static_cast<std::uint32_t>(files_.size());
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string::npos && text[first] == '{';
  auto report = is_json ? read_ras_json(text, file, diagnostics) : read_ras_text(text, file);
  if (report) {
    files_.push_back(name);
    reports_.push_back(std::move(*report));
    return true;
  }
  if (!diagnostics.has_errors()) {
    diagnostics.error({}, models::Code::kNoEvidence, "no report of NCCL RAS in this file")
        .notes.emplace_back("'ncclras -v' prints one, of NCCL 2.24 and later");
  }
  return false;
}

// Whether all reports have the same count.
bool RasReader::is_repeated(const std::string& hash, const std::string& op,
                            std::uint32_t rank) const {
  if (reports_.size() < 2) return false;
  const auto last = count_of(reports_.back(), hash, op, rank);
  return last && std::all_of(reports_.begin(), reports_.end() - 1, [&](const RasReport& it) {
           return count_of(it, hash, op, rank) == last;
         });
}

models::Evidence RasReader::evidence(bool hangs) const {
  models::Evidence evidence;
  evidence.format = "NCCL RAS";
  evidence.files = files_;
  if (reports_.empty()) return evidence;
  const RasReport& report = reports_.back();
  RasEvidence made(report, evidence);
  if (!made.begin()) return evidence;
  hangs = hangs || has_large_difference(report);
  for (const auto& [hash, communicator] : report.communicators) {
    std::set<std::string> ops;
    for (const auto& [rank, member] : communicator.members) {
      for (const auto& [op, count] : member.counts) ops.insert(op);
    }
    for (const std::string& op : ops) {
      const auto operation = models::nccl_operation(op);
      // A rank of a broadcast or a reduce may be done before others have launched it.
      if (!operation || !models::synchronizes_all(*operation)) continue;
      const auto counts = made.counts(communicator, op);
      const auto [least, most] = range_of(counts);
      const bool repeated = std::all_of(counts.begin(), counts.end(), [&, &name = hash](auto& it) {
        return is_repeated(name, op, it.member->rank);
      });
      const bool lags = most > least && (hangs || repeated || most > least + 1);
      if (lags) made.add(communicator, *operation, counts, least);
    }
  }
  return evidence;
}

std::vector<std::string> RasReader::notes() const {
  std::vector<std::string> notes;
  for (const RasReport& report : reports_) {
    notes.insert(notes.end(), report.notes.begin(), report.notes.end());
  }
  if (reports_.empty()) return notes;
  bool any = false;
  for (const auto& [hash, communicator] : reports_.back().communicators) {
    std::map<std::string, std::map<std::int64_t, std::vector<std::uint32_t>>> by_count;
    for (const auto& [rank, member] : communicator.members) {
      any = any || member.state != models::ProcessState::kNotTold;
      for (const auto& [op, count] : member.counts) by_count[op][count].push_back(rank);
    }
    for (const auto& [op, counts] : by_count) {
      if (counts.size() < 2) continue;
      any = true;
      notes.push_back(difference_note(communicator, op, counts, reports_.size() == 1));
    }
  }
  if (!any && reports_.back().lost.empty()) {
    notes.emplace_back(
        "RAS sees nothing wrong: all ranks answered and launched as many collectives. It does not "
        "see devices, sends or recvs");
  }
  return notes;
}

}  // namespace pipesim::formats
