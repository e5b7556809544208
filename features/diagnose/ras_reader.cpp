#include "features/diagnose/ras_reader.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/graph/operation.hpp"

#include "features/diagnose/diagnosis.hpp"
#include "features/diagnose/ras_job.hpp"

namespace pipesim::formats {
namespace {

using Range = std::pair<std::int64_t, std::int64_t>;  // the smallest and the largest count

Range widened(const std::optional<Range>& range, std::int64_t count) {
  if (!range) return {count, count};
  return {std::min(range->first, count), std::max(range->second, count)};
}

// Whether counts in any communicator differ by more than one. Then the job hangs, and a lagging
// rank can be blocked in another communicator, where it is ahead by one.
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

// Evidence from the last report.
class RasEvidence {
 public:
  RasEvidence(const std::vector<RasReport>& reports, const models::KnownJob& known)
      : report_(reports.back()), job_(reports, known) {}

  // The count of a member for one operation of a communicator.
  struct Count {
    const RasMember* member = nullptr;
    std::uint32_t number = 0;
    std::int64_t count = 0;
  };
  std::vector<Count> counts(const RasCommunicator& communicator, const std::string& op);
  void add(const RasCommunicator& communicator, models::Operation operation,
           const std::vector<Count>& counts, std::int64_t least);
  models::Evidence finish(const std::vector<std::string>& files);

 private:
  models::RankEvidence& at(std::uint32_t number);
  void add_processes();
  void add_lost();
  void add_unplaced();

  const RasReport& report_;
  RasJob job_;
  models::Evidence evidence_;
};

models::RankEvidence& RasEvidence::at(std::uint32_t number) {
  models::RankEvidence unknown;
  unknown.complete = false;
  if (evidence_.ranks.size() < job_.size()) evidence_.ranks.resize(job_.size(), unknown);
  return evidence_.ranks[number];
}

std::vector<RasEvidence::Count> RasEvidence::counts(const RasCommunicator& communicator,
                                                    const std::string& op) {
  std::vector<Count> result;
  for (const auto& [rank, member] : communicator.members) {
    const auto count = member.counts.find(op);
    if (count == member.counts.end()) continue;
    result.push_back({&member, job_.number_of(communicator, member), count->second});
  }
  return result;
}

void RasEvidence::add(const RasCommunicator& communicator, models::Operation operation,
                      const std::vector<Count>& counts, std::int64_t least) {
  const auto group = static_cast<std::uint32_t>(evidence_.groups.size());
  std::set<std::uint32_t> members;
  for (const Count& it : counts) members.insert(it.number);
  evidence_.groups.push_back({"communicator " + communicator.hash,
                              "",
                              {members.begin(), members.end()},
                              members.size() == communicator.size});
  for (const Count& it : counts) {
    models::RankEvidence& of = at(it.number);
    of.has_dump = true;
    of.progress.push_back({group, it.count, -1, models::kUncounted, false, it.member->place});
    if (it.count == least) continue;
    // A call that one member has not launched is done on no member.
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

void RasEvidence::add_processes() {
  for (const auto& [hash, communicator] : report_.communicators) {
    // If a member does not answer, the other members may be blocked in their last launch.
    const bool any_missing = std::any_of(
        communicator.members.begin(), communicator.members.end(),
        [](const auto& it) { return it.second.state != models::ProcessState::kNotTold; });
    for (const auto& [rank, member] : communicator.members) {
      if (any_missing) at(job_.number_of(communicator, member)).may_wait = true;
      const bool told =
          !member.process.pid.empty() || member.state != models::ProcessState::kNotTold;
      if (!told) continue;
      models::ProcessStanding& process = at(job_.number_of(communicator, member)).process;
      if (process.state < member.state) process = {member.state, {}, {}, member.place, {}};
      if (member.process.pid.empty()) continue;
      process.id = member.process;
      process.name = models::process_name(member.process);
      if (process.place.file == models::kNoIndex) process.place = member.place;
    }
  }
}

void RasEvidence::add_lost() {
  for (const models::ProcessStanding& process : report_.lost) {
    const auto rank = job_.rank_of(process.id);
    if (rank && *rank < job_.ranks()) {
      at(*rank).process = process;
    } else {
      evidence_.unplaced.push_back(process);
      evidence_.unplaced.back().reason = "nothing says which rank it was";
    }
  }
}

// Adds members of unknown rank to `unplaced` if they block the job, and drops all other members of
// unknown rank. Also adds ranks of the job for which only members of unknown rank wait.
void RasEvidence::add_unplaced() {
  if (evidence_.ranks.size() <= job_.ranks()) return;
  const models::Diagnosis found = models::diagnose(evidence_);
  std::map<std::uint32_t, models::ProcessState> states;
  const auto tell = [&](std::uint32_t number, models::ProcessState state) {
    models::ProcessState& told = states[number];
    told = std::max({told, state, evidence_.ranks[number].process.state});
  };
  for (const models::DiagnosisRoot& root : found.roots) {
    if (root.reason == models::RootReason::kUnexplained) continue;
    const bool seen =
        root.rank < job_.ranks() &&
        std::any_of(found.waits.begin(), found.waits.end(), [&](const models::Wait& wait) {
          return wait.from.rank < job_.ranks() && wait.to.rank == root.rank;
        });
    if (!seen) tell(root.rank, models::ProcessState::kBehind);
  }
  for (const models::Wait& wait : found.explanation.cycle) {
    tell(wait.from.rank, models::ProcessState::kBehind);
  }
  for (const models::Suspect& suspect : found.suspects) {
    if (suspect.rank >= job_.ranks()) tell(suspect.rank, models::ProcessState::kSilent);
  }
  for (const auto& [number, state] : states) {
    models::ProcessStanding process = evidence_.ranks[number].process;
    process.state = state;
    const bool is_rank = number < job_.ranks();
    process.reason = is_rank ? "" : "nothing says which rank of the job it is";
    process.name =
        is_rank ? fmt::format("rank {} ({})", number, process.name) : job_.name_of(number);
    evidence_.unplaced.push_back(std::move(process));
  }
  evidence_.ranks.resize(job_.ranks());
  for (models::EvidenceGroup& group : evidence_.groups) {
    const std::size_t before = group.ranks.size();
    std::erase_if(group.ranks, [&](std::uint32_t rank) { return rank >= job_.ranks(); });
    group.all_members = group.all_members && group.ranks.size() == before;
  }
}

models::Evidence RasEvidence::finish(const std::vector<std::string>& files) {
  evidence_.format = "NCCL RAS";
  evidence_.files.assign(files.begin(), files.end());
  add_processes();
  if (job_.size() > 0) at(0);
  add_unplaced();
  add_lost();
  return std::move(evidence_);
}

Range range_of(const std::vector<RasEvidence::Count>& counts) {
  std::optional<Range> range;
  for (const auto& it : counts) range = widened(range, it.count);
  return range.value_or(Range(0, 0));
}

// Returns "Communicator ab12: its rank 7 is behind in AllReduce, at 60; 7 ranks have launched up to
// 64".
std::string difference_note(const RasCommunicator& communicator, const std::string& op,
                            const std::map<std::int64_t, std::vector<std::uint32_t>>& counts,
                            bool may_pass) {
  const auto& [least, behind] = *counts.begin();
  const std::int64_t most = counts.rbegin()->first;
  std::size_t ahead = 0;
  for (const auto& [count, ranks] : counts) ahead += count > least ? ranks.size() : 0U;
  constexpr std::size_t kMaxNamed = 8;
  const std::string who =
      behind.size() > kMaxNamed
          ? fmt::format("{} ranks", behind.size())
          : fmt::format("its rank{} {}", behind.size() == 1 ? "" : "s", fmt::join(behind, ", "));
  const std::string others = ahead == 1 ? "1 rank has" : fmt::format("{} ranks have", ahead);
  return fmt::format(
      "Communicator {}: {} {} behind in {}, at {}; {} launched up to {}{}", communicator.hash, who,
      behind.size() == 1 ? "is" : "are", op, least, others, most,
      most - least == 1 && may_pass ? "; a lag of 1 may clear by itself: run ncclras again" : "");
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
  std::vector<RasReport> reports =
      is_json ? read_ras_json(text, file, diagnostics) : read_ras_text(text, file);
  if (!reports.empty()) {
    files_.push_back(name);
    std::move(reports.begin(), reports.end(), std::back_inserter(reports_));
    return true;
  }
  if (!diagnostics.has_errors()) {
    diagnostics.error({}, models::Code::kNoEvidence, "no report of NCCL RAS in this file")
        .notes.emplace_back("'ncclras -v' prints one, of NCCL 2.24 and later");
  }
  return false;
}

// Whether all reports have the same count for this rank, communicator and operation.
bool RasReader::is_repeated(const std::string& hash, const std::string& op,
                            std::uint32_t rank) const {
  if (reports_.size() < 2) return false;
  const auto last = count_of(reports_.back(), hash, op, rank);
  return last && std::all_of(reports_.begin(), reports_.end() - 1, [&](const RasReport& it) {
           return count_of(it, hash, op, rank) == last;
         });
}

models::Evidence RasReader::evidence(bool hangs, const models::KnownJob& known) const {
  if (reports_.empty()) return {};
  const RasReport& report = reports_.back();
  RasEvidence made(reports_, known);
  hangs = hangs || has_large_difference(report);
  for (const auto& [hash, communicator] : report.communicators) {
    std::set<std::string> ops;
    for (const auto& [rank, member] : communicator.members) {
      for (const auto& [op, count] : member.counts) ops.insert(op);
    }
    for (const std::string& op : ops) {
      const auto operation = models::nccl_operation(op);
      // In a broadcast or reduce, a rank can be done before other ranks have launched the
      // operation.
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
  return made.finish(files_);
}

std::vector<models::OutsideText> RasReader::notes() const {
  std::vector<models::OutsideText> notes;
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
