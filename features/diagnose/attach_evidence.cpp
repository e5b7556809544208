#include "features/diagnose/attach_evidence.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "features/record/record_checks.hpp"
#include "features/record/record_ends.hpp"
#include "features/record/record_text.hpp"

namespace pipesim::models {
namespace {

using EntryKind = RecordEntry::Kind;

// Makes the evidence of one rank.
class RankNotes {
 public:
  RankNotes(const Record& record, std::uint32_t rank) : record_(record), own_(record.ranks[rank]) {
    evidence_.has_dump = true;
    evidence_.source = "rank" + std::to_string(rank) + ".calls";
    rank_ = rank;
  }

  // `any_waits`: whether a rank of the job waits for others.
  RankEvidence run(bool any_waits);

 private:
  void add_call(const RecordEntry& entry);
  void add_sizes(const RecordEntry& entry, RecordedOp& op) const;
  void set(std::size_t call, CallState state);
  void add_end(bool any_waits);

  const Record& record_;
  const RankRecord& own_;
  std::uint32_t rank_ = 0;
  RankEvidence evidence_;
  std::map<std::int64_t, std::size_t> of_work_;  // index of the call that made a Work
};

void RankNotes::set(std::size_t call, CallState state) {
  RecordedCall& of = evidence_.calls[call];
  of.state = state;
  of.over = false;
  for (RecordedOp& op : of.ops) op.state = state;
}

// Dumps have the elements of input and output, the record has the bytes of the input. Ranks can
// pass different sizes to the other operations.
void RankNotes::add_sizes(const RecordEntry& entry, RecordedOp& op) const {
  if (entry.type == kNotSaid) return;
  const std::int64_t elements = entry.bytes / bytes_of_type(record_.texts[entry.type]);
  const auto members = static_cast<std::int64_t>(record_.groups[entry.group].ranks.size());
  std::int64_t output = elements;
  switch (entry.operation) {
    case Operation::kAllReduce:
    case Operation::kBroadcast:
    case Operation::kReduce:
      break;
    case Operation::kAllGather:
      output = elements * members;
      break;
    case Operation::kReduceScatter:
      output = elements / members;
      break;
    default:
      return;
  }
  op.input_sizes = {{elements}};
  op.output_sizes = {{output}};
  op.input_types = op.output_types = {record_.texts[entry.type]};
}

void RankNotes::add_call(const RecordEntry& entry) {
  RecordedOp op;
  op.record = evidence_.calls.size();
  op.name = operation_name(entry.operation);
  op.message = !is_collective(entry.operation);
  if (op.message) {
    const bool sends = entry.operation == Operation::kSend;
    op.source = sends ? rank_ : entry.any_source ? kAnyRank : entry.peer;
    op.target = sends ? entry.peer : rank_;
  } else {
    add_sizes(entry, op);
  }
  RecordedCall call;
  call.group = entry.group;
  call.messages = op.message;
  call.sequence = static_cast<std::uint64_t>(entry.number);
  call.last_record = op.record;
  call.at = record_.place_of(entry.place);
  call.place = {rank_, 0};
  call.ops.push_back(std::move(op));
  evidence_.calls.push_back(std::move(call));
  set(evidence_.calls.size() - 1, CallState::kCompleted);
  if (!entry.sync) {
    evidence_.calls.back().over = true;  // unless the script waits for it
    of_work_[entry.work] = evidence_.calls.size() - 1;
  }
}

RankEvidence RankNotes::run(bool any_waits) {
  std::vector<std::size_t> last;  // calls that the last entry waits for
  for (const RecordEntry& entry : own_.entries) {
    switch (entry.kind) {
      case EntryKind::kCall:
        if (entry.later) break;
        add_call(entry);
        last.clear();
        if (entry.sync) last.push_back(evidence_.calls.size() - 1);
        break;
      case EntryKind::kWait:
        last.clear();
        for (const std::int64_t work : entry.amounts) {
          const auto call = of_work_.find(work);
          if (call == of_work_.end()) continue;
          set(call->second, CallState::kCompleted);
          last.push_back(call->second);
        }
        break;
      case EntryKind::kNote:
        if (entry.text != kNotSaid && record_.texts[entry.text].starts_with(kIncompleteBasis)) {
          evidence_.complete = false;
        }
        break;
      default:
        last.clear();
    }
  }
  if (ends_in_call(own_)) {
    for (const std::size_t call : last) set(call, CallState::kStarted);
  }
  add_end(any_waits);
  return std::move(evidence_);
}

void RankNotes::add_end(bool any_waits) {
  const RecordEnd& end = own_.end;
  const OutsideText at = record_.place_of(end.place);
  ProcessStanding& process = evidence_.process;
  process.place = {rank_, 0};
  switch (end.kind) {
    case RecordEnd::Kind::kFinished:
    case RecordEnd::Kind::kExited:
      if (!any_waits) break;
      process.state = ProcessState::kDead;
      process.reason = "it " + end_text(record_, rank_);
      break;
    case RecordEnd::Kind::kRaised:
      process.state = ProcessState::kFailed;
      process.reason = end.text;
      break;
    case RecordEnd::Kind::kKilled:
      process.state = ProcessState::kDead;
      break;
    case RecordEnd::Kind::kCut:
      if (end.cut == RecordEnd::Cut::kQuiescent) evidence_.host = {true, true, at, {rank_, 0}};
      if (end.cut == RecordEnd::Cut::kOutside) evidence_.host = {false, true, at, {rank_, 0}};
      break;
  }
}

}  // namespace

Evidence attach_evidence(const Record& record) {
  Evidence evidence;
  evidence.format = "notes of 'pipesim attach'";
  for (const RecordGroup& group : record.groups) {
    EvidenceGroup of;
    of.name = group.name;
    of.description = group.description;
    of.ranks = group.ranks;
    std::sort(of.ranks.begin(), of.ranks.end());
    of.size = static_cast<std::uint32_t>(of.ranks.size());
    evidence.groups.push_back(std::move(of));
  }
  const bool any_waits = std::any_of(record.ranks.begin(), record.ranks.end(), stands_still);
  for (std::uint32_t rank = 0; rank < record.ranks.size(); ++rank) {
    evidence.ranks.push_back(RankNotes(record, rank).run(any_waits));
    evidence.files.push_back(evidence.ranks.back().source);
  }
  return evidence;
}

}  // namespace pipesim::models
