#include "features/diagnose/evidence_merge.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace pipesim::models {
namespace {

EvidencePlace moved(EvidencePlace place, std::uint32_t files) {
  if (place.file != kNoIndex) place.file += files;
  return place;
}

// Returns the index in `evidence` of the group that `group` describes, or kNoIndex.
std::uint32_t same_group(const Evidence& evidence, const EvidenceGroup& group) {
  std::uint32_t found = kNoIndex;
  for (std::uint32_t i = 0; i < evidence.groups.size(); ++i) {
    const EvidenceGroup& known = evidence.groups[i];
    const auto within = [](const auto& part, const auto& whole) {
      return std::includes(whole.begin(), whole.end(), part.begin(), part.end());
    };
    const bool same = !group.name.empty() && known.name == group.name &&
                      (within(group.ranks, known.ranks) || within(known.ranks, group.ranks));
    if (!same) continue;
    if (found != kNoIndex) return kNoIndex;  // the name is ambiguous
    found = i;
  }
  return found;
}

std::string count_text(std::int64_t count) {
  return count < 0 ? "none" : "#" + std::to_string(count);
}

class EvidenceMerger {
 public:
  EvidenceMerger(Evidence& evidence, std::vector<OutsideText>& notes)
      : evidence_(evidence), notes_(notes) {}

  void run(Evidence other) {
    files_ = static_cast<std::uint32_t>(evidence_.files.size());
    std::move(other.files.begin(), other.files.end(), std::back_inserter(evidence_.files));
    if (!other.format.empty()) {
      evidence_.format = evidence_.format + (evidence_.format.empty() ? "" : ", ") + other.format;
    }
    const std::size_t before = evidence_.ranks.size();
    if (evidence_.ranks.size() < other.ranks.size()) evidence_.ranks.resize(other.ranks.size());
    for (std::size_t i = before; i < evidence_.ranks.size(); ++i) {
      evidence_.ranks[i].complete = false;
    }
    for (EvidenceGroup& group : other.groups) add_group(std::move(group), other);
    for (std::uint32_t rank = 0; rank < other.ranks.size(); ++rank) {
      add_rank(rank, std::move(other.ranks[rank]));
    }
    for (auto& [rank, thread] : other.main_threads) {
      evidence_.main_threads.insert_or_assign(rank, std::move(thread));
    }
    for (const OutsideText& gap : other.gaps) add_gap(evidence_, gap);
    evidence_.world_size = std::max(evidence_.world_size, other.world_size);
    evidence_.launched_alike = evidence_.launched_alike || other.launched_alike;
    for (ProcessStanding& process : other.unplaced) {
      process.place = moved(process.place, files_);
      evidence_.unplaced.push_back(std::move(process));
    }
  }

 private:
  void add_group(EvidenceGroup group, const Evidence& other);
  void add_rank(std::uint32_t rank, RankEvidence other);
  void add_process(ProcessStanding& own, ProcessStanding other) const;
  void add_progress(std::uint32_t rank, GroupProgress progress);
  bool is_unknown(std::uint32_t group) const;
  bool is_known(const RankEvidence& own, const RecordedCall& call) const;

  Evidence& evidence_;
  std::vector<OutsideText>& notes_;
  std::uint32_t files_ = 0;
  // Index in `evidence_` of each group of the other evidence.
  std::vector<std::uint32_t> group_of_;
};

void EvidenceMerger::add_group(EvidenceGroup group, const Evidence& other) {
  const std::uint32_t same = same_group(evidence_, group);
  if (same == kNoIndex) {
    const bool complete = std::any_of(other.ranks.begin(), other.ranks.end(),
                                      [](const auto& it) { return it.has_dump && it.complete; });
    group.in_dumps = group.in_dumps && complete;
    group_of_.push_back(static_cast<std::uint32_t>(evidence_.groups.size()));
    evidence_.groups.push_back(std::move(group));
    return;
  }
  group_of_.push_back(same);
  EvidenceGroup& known = evidence_.groups[same];
  if (known.description.empty()) known.description = group.description;
  known.size = std::max(known.size, group.size);
  if (known.all_members) return;
  std::vector<std::uint32_t> ranks;
  std::set_union(known.ranks.begin(), known.ranks.end(), group.ranks.begin(), group.ranks.end(),
                 std::back_inserter(ranks));
  known.ranks = std::move(ranks);
  known.all_members = group.all_members;
}

void EvidenceMerger::add_progress(std::uint32_t rank, GroupProgress progress) {
  progress.group = group_of_[progress.group];
  progress.place = moved(progress.place, files_);
  std::vector<GroupProgress>& all = evidence_.ranks[rank].progress;
  const auto known = std::find_if(all.begin(), all.end(),
                                  [&](const auto& it) { return it.group == progress.group; });
  if (known == all.end()) {
    all.push_back(progress);
    return;
  }
  if (known->called == progress.called) return;
  const bool later = progress.called > known->called;
  const GroupProgress& taken = later ? progress : *known;
  const GroupProgress& left = later ? *known : progress;
  notes_.emplace_back(
      "They disagree on rank " + std::to_string(rank) + " in " +
      group_name(evidence_.groups[progress.group]) + ": called " + count_text(left.called) + " (" +
      place_text(evidence_, left.place) + ") and " + count_text(taken.called) + " (" +
      place_text(evidence_, taken.place) + "); the larger count is later, and is used");
  if (later) *known = progress;
}

// Whether two calls of a rank can be the same call, with its group named by only one of the two
// sources.
bool can_be_same(const RecordedCall& a, const RecordedCall& b) {
  return a.state != CallState::kCompleted && b.state != CallState::kCompleted &&
         a.messages == b.messages && a.sequence == b.sequence && a.group != b.group &&
         (a.ops.empty() || b.ops.empty() || a.ops.front().name == b.ops.front().name);
}

// Whether the group was made up for a single call, because no evidence names the group of this
// call.
bool EvidenceMerger::is_unknown(std::uint32_t group) const {
  const EvidenceGroup& it = evidence_.groups[group];
  return it.name.empty() && !it.all_members;
}

// Whether the group of `call` is unknown and exactly one pending call of the rank can be the same
// call.
bool EvidenceMerger::is_known(const RankEvidence& own, const RecordedCall& call) const {
  if (!is_unknown(call.group)) return false;
  return std::count_if(own.calls.begin(), own.calls.end(),
                       [&](const RecordedCall& it) { return can_be_same(it, call); }) == 1;
}

void EvidenceMerger::add_rank(std::uint32_t rank, RankEvidence other) {
  RankEvidence& own = evidence_.ranks[rank];
  const bool had_dump = own.has_dump && own.complete;
  for (const GroupProgress& progress : other.progress) add_progress(rank, progress);
  const std::uint64_t records = own.calls.empty() ? 0 : own.calls.back().last_record + 1;
  for (RecordedCall& call : other.calls) {
    call.group = group_of_[call.group];
    call.place = moved(call.place, files_);
    const auto same = std::find_if(own.calls.begin(), own.calls.end(), [&](const auto& it) {
      return it.group == call.group && it.sequence == call.sequence && it.messages == call.messages;
    });
    const bool known = same != own.calls.end();
    if (known && same->at.empty()) same->at = std::move(call.at);
    // A dump contains all calls of its groups.
    if (known || is_known(own, call) || (had_dump && evidence_.groups[call.group].in_dumps))
      continue;
    std::erase_if(own.calls, [&](const RecordedCall& it) {
      return is_unknown(it.group) && !is_unknown(call.group) && can_be_same(it, call);
    });
    call.last_record += records;
    for (RecordedOp& op : call.ops) op.record += records;
    own.calls.push_back(std::move(call));
  }
  if (other.has_dump) {
    own.complete = own.has_dump ? own.complete || other.complete : other.complete;
    own.has_dump = true;
  }
  own.may_wait = (own.may_wait || other.may_wait) && !had_dump;
  if (own.source.empty()) own.source = std::move(other.source);
  std::sort(own.progress.begin(), own.progress.end(),
            [](const auto& a, const auto& b) { return a.group < b.group; });
  if (!own.host && other.host) {
    own.host = std::move(other.host);
    own.host->place = moved(own.host->place, files_);
  }
  add_process(own.process, std::move(other.process));
}

void EvidenceMerger::add_process(ProcessStanding& own, ProcessStanding other) const {
  if (own.name.empty()) {
    own.name = std::move(other.name);
    own.id = other.id;
  }
  if (own.state != ProcessState::kNotTold) return;
  own.state = other.state;
  own.reason = std::move(other.reason);
  own.place = moved(other.place, files_);
}

}  // namespace

KnownJob known_job(const Evidence& evidence) {
  KnownJob job;
  job.ranks = static_cast<std::uint32_t>(evidence.ranks.size());
  for (std::uint32_t rank = 0; rank < evidence.ranks.size(); ++rank) {
    const ProcessId& id = evidence.ranks[rank].process.id;
    if (!id.pid.empty()) job.processes.emplace_back(id, rank);
  }
  return job;
}

void merge_evidence(Evidence& evidence, Evidence other, std::vector<OutsideText>& notes) {
  EvidenceMerger(evidence, notes).run(std::move(other));
}

void add_hosts(Evidence& evidence, const std::map<std::uint32_t, HostStanding>& hosts,
               const std::vector<OutsideText>& files) {
  const auto before = static_cast<std::uint32_t>(evidence.files.size());
  evidence.files.insert(evidence.files.end(), files.begin(), files.end());
  for (const auto& [rank, host] : hosts) {
    if (rank >= evidence.ranks.size()) continue;
    HostStanding moved_host = host;
    moved_host.place = moved(host.place, before);
    evidence.ranks[rank].host = std::move(moved_host);
  }
}

}  // namespace pipesim::models
