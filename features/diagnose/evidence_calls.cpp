#include "features/diagnose/evidence_calls.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

namespace pipesim::models {
namespace {

// Returns the progress of a rank in each group: from its own counters or, without counters, from
// its calls.
std::map<std::uint32_t, GroupStanding> standings_of(const RankEvidence& rank) {
  std::map<std::uint32_t, GroupStanding> result;
  std::set<std::uint32_t> with_collectives;
  for (const RecordedCall& call : rank.calls) {
    if (!call.messages) with_collectives.insert(call.group);
  }
  for (const RecordedCall& call : rank.calls) {
    GroupStanding& standing = result[call.group];
    const bool done = call.state == CallState::kCompleted;
    if (!done) ++standing.pending;
    // Sends and recvs have their own numbers, which do not count collectives.
    if (!call.messages || with_collectives.count(call.group) == 0) {
      const auto number = static_cast<std::int64_t>(call.sequence);
      standing.called = std::max(standing.called, number);
      if (done) standing.completed = std::max(standing.completed, number);
    }
    if (rank.complete) continue;
    standing.at_least = true;
    standing.completed = kUncounted;
  }
  for (const GroupProgress& progress : rank.progress) {
    GroupStanding& standing = result[progress.group];
    standing.called = progress.called;
    standing.completed = progress.completed;
    standing.at_least = progress.at_least;
  }
  return result;
}

}  // namespace

OpInfo call_info(const Evidence& evidence, std::uint32_t rank, const RecordedCall& call) {
  OpInfo info;
  info.rank = rank;
  info.name = call_name(call, evidence.groups[call.group], rank);
  info.number = static_cast<std::uint32_t>(call.sequence);
  info.stream = group_name(evidence.groups[call.group]);
  info.thread = "host";
  info.at = call.at;
  info.in_program = true;
  info.collective = true;
  switch (call.state) {
    case CallState::kScheduled:
      info.stage = OpStage::kLaunched;
      break;
    case CallState::kStarted:
      info.stage = OpStage::kStarted;
      break;
    case CallState::kCompleted:
      info.stage = OpStage::kDone;
      break;
  }
  return info;
}

Wait wait_of(const sim::WaitGraph& graph, const sim::WaitEdge& edge,
             const std::function<OpInfo(sim::ActorId)>& describe) {
  const auto party = [&](std::uint32_t index) {
    const sim::WaitNode& node = graph.nodes[index];
    WaitParty result;
    result.kind = node.kind;
    result.rank = node.rank.value;
    if (node.kind == sim::WaitNodeKind::kOp) {
      result.op = describe(node.actor);
      result.op.actor = node.actor;
    }
    return result;
  };
  Wait wait;
  wait.from = party(edge.from);
  wait.to = party(edge.to);
  wait.kind = edge.kind;
  return wait;
}

std::vector<Misfit> find_misfits(const Evidence& evidence,
                                 const std::vector<CollectiveCheck>& checks,
                                 std::vector<bool>& groups) {
  std::vector<Misfit> misfits;
  for (const CollectiveCheck& check : checks) {
    const bool differs =
        check.result == CheckResult::kMismatch || check.result == CheckResult::kElementsDiffer;
    // Calls can mismatch even before all members have made them.
    const bool also = check.result == CheckResult::kNotAllJoined;
    if (!differs && !also) continue;
    const RecordedCall& reference = evidence.ranks[check.reference].calls[check.reference_call];
    if (check.result == CheckResult::kElementsDiffer) {
      Misfit misfit;
      misfit.first = misfit.second = call_info(evidence, check.reference, reference);
      misfit.ranks = check.called;
      misfit.differences = {"the ranks send more or less in total than they receive"};
      misfits.push_back(std::move(misfit));
      groups[check.group] = true;
    }
    for (const Culprit& culprit : check.culprits) {
      if (culprit.result.match == Match::kState) continue;
      groups[check.group] = true;
      const RecordedCall& theirs = evidence.ranks[culprit.rank].calls[culprit.call];
      const auto alike = std::find_if(misfits.begin(), misfits.end(), [&](const Misfit& other) {
        return other.first.rank == check.reference && other.first.number == check.sequence &&
               other.first.stream == group_name(evidence.groups[check.group]) &&
               other.differences.front() == culprit.result.difference;
      });
      if (alike != misfits.end()) {
        alike->ranks.push_back(culprit.rank);
        continue;
      }
      Misfit misfit;
      misfit.first = call_info(evidence, check.reference, reference);
      misfit.second = call_info(evidence, culprit.rank, theirs);
      misfit.ranks = {culprit.rank};
      misfit.other_side = check.other_side;
      misfit.differences = {culprit.result.difference};
      misfits.push_back(std::move(misfit));
    }
  }
  return misfits;
}

void fill_default_groups(Evidence& evidence) {
  for (EvidenceGroup& group : evidence.groups) {
    if (group.all_members || group.description != "default_pg") continue;
    group.ranks.resize(evidence.ranks.size());
    std::iota(group.ranks.begin(), group.ranks.end(), 0U);
  }
}

std::vector<OutsideText> reopen_failed_calls(Evidence& evidence) {
  struct Failed {
    std::uint32_t rank;
    RecordedCall* call;
    std::uint32_t absent;
  };
  std::vector<Failed> failed;
  const CallIndex index(evidence);
  for (std::uint32_t rank = 0; rank < evidence.ranks.size(); ++rank) {
    for (RecordedCall& call : evidence.ranks[rank].calls) {
      if (!call.over || call.messages || call.state != CallState::kCompleted) continue;
      const std::vector<std::uint32_t>& members = evidence.groups[call.group].ranks;
      const auto absent = std::find_if(members.begin(), members.end(), [&](std::uint32_t member) {
        std::uint32_t theirs = 0;
        return index.collective(member, key_of(call), &theirs) == Called::kNo;
      });
      if (absent != members.end()) failed.push_back({rank, &call, *absent});
    }
  }
  std::vector<OutsideText> notes;
  for (const auto& [rank, call, absent] : failed) {
    call->state = CallState::kScheduled;
    for (RecordedOp& op : call->ops) op.state = CallState::kScheduled;
    for (GroupProgress& progress : evidence.ranks[rank].progress) {
      if (progress.group != call->group) continue;
      progress.completed =
          std::min(progress.completed, static_cast<std::int64_t>(call->sequence) - 1);
    }
    notes.emplace_back("Rank " + std::to_string(rank) + "'s " +
                       call_name(*call, evidence.groups[call->group], rank) + "#" +
                       std::to_string(call->sequence) + " is over, but cannot be done: rank " +
                       std::to_string(absent) + " has not called it. It failed or timed out");
  }
  constexpr std::size_t kMaxNotes = 3;
  if (notes.size() > kMaxNotes) notes.resize(kMaxNotes);
  return notes;
}

std::vector<GroupStanding> group_standings(const Evidence& evidence) {
  std::vector<GroupStanding> result;
  using Row = std::tuple<std::int64_t, std::int64_t, std::uint32_t, bool>;
  std::vector<std::map<Row, std::vector<std::uint32_t>>> rows(evidence.groups.size());
  std::vector<std::map<std::uint32_t, GroupStanding>> of_rank;
  for (const RankEvidence& rank : evidence.ranks) of_rank.push_back(standings_of(rank));
  for (std::uint32_t group = 0; group < evidence.groups.size(); ++group) {
    bool any_pending = false;
    for (const std::uint32_t rank : evidence.groups[group].ranks) {
      if (!evidence.ranks[rank].has_dump) continue;
      const auto known = of_rank[rank].find(group);
      // If the group has no entry, the rank made no call in it, or the number of its calls is
      // unknown.
      const bool told = known != of_rank[rank].end();
      if (!told && !evidence.ranks[rank].complete) continue;
      const GroupStanding standing = told ? known->second : GroupStanding();
      any_pending = any_pending || standing.pending > 0;
      rows[group][{standing.called, standing.completed, standing.pending, standing.at_least}]
          .push_back(rank);
    }
    if (!any_pending && rows[group].size() < 2) continue;
    for (const auto& [row, ranks] : rows[group]) {
      const auto& [called, completed, pending, at_least] = row;
      result.push_back({group, ranks, called, completed, pending, at_least});
    }
  }
  return result;
}

}  // namespace pipesim::models
