#include "features/diagnose/nccl_calls.hpp"

#include <algorithm>

namespace pipesim::formats {
namespace {

using models::Operation;

// The number of a call, and the number of earlier calls that share it.
using Number = std::pair<std::uint64_t, std::uint32_t>;
using NumberedCalls = std::vector<std::pair<Number, const NcclCall*>>;

std::int64_t clamped(std::uint64_t value) {
  constexpr std::uint64_t kMax = std::uint64_t{1} << 50;
  return static_cast<std::int64_t>(std::min(value, kMax));
}

NumberedCalls collectives_of(const NcclGroup& group, std::uint32_t rank) {
  NumberedCalls calls;
  std::map<std::uint64_t, std::uint32_t> repeats;
  std::uint64_t next = 0;
  for (const NcclCall* call : group.calls_of(rank)) {
    if (!models::is_collective(call->operation)) continue;
    const std::uint64_t number = group.from_start ? ++next : call->op_count;
    calls.push_back({{number, repeats[number]++}, call});
  }
  return calls;
}

models::RecordedOp recorded_op(const NcclCall& call, std::uint32_t group_size) {
  models::RecordedOp op;
  op.name = models::operation_name(call.operation);
  const std::int64_t elements = clamped(call.count);
  const std::int64_t all = elements * std::max<std::int64_t>(1, group_size);
  op.input_sizes = {{call.operation == Operation::kReduceScatter ? all : elements}};
  op.output_sizes = {{call.operation == Operation::kAllGather ? all : elements}};
  if (call.type < kNcclTypes.size()) {
    op.input_types = op.output_types = {std::string(kNcclTypes.at(call.type).first)};
  }
  return op;
}

}  // namespace

std::vector<const NcclCall*> NcclGroup::calls_of(std::uint32_t rank) const {
  std::vector<const NcclCall*> calls;
  const auto& [process, address] = members.at(rank);
  for (const NcclCall& call : process->calls) {
    if (call.communicator == address) calls.push_back(&call);
  }
  return calls;
}

namespace {

// Adds sends and recvs. A recv without its send is pending. A send without its recv may be done,
// because NCCL buffers data.
void add_messages(const NcclGroup& group, models::Evidence& evidence) {
  using Ends = std::pair<std::uint32_t, std::uint32_t>;  // sender, receiver: ranks of the job
  std::map<Ends, std::size_t> sends;
  std::map<Ends, std::vector<const NcclCall*>> receives;
  bool any = false;
  for (const auto& [rank, member] : group.members) {
    for (const NcclCall* call : group.calls_of(rank)) {
      if (models::is_collective(call->operation)) continue;
      any = true;
      const auto peer = group.job_rank.find(call->root);
      const bool known = group.from_start && peer != group.job_rank.end();
      if (!known) {
        evidence.ranks[rank].may_wait = true;
      } else if (call->operation == Operation::kSend) {
        ++sends[{rank, peer->second}];
      } else {
        receives[{peer->second, rank}].push_back(call);
      }
    }
  }
  for (const auto& [ends, count] : sends) {
    const auto met = receives.find(ends);
    const bool all_met = met != receives.end() && met->second.size() >= count;
    if (!all_met) evidence.ranks[ends.first].may_wait = true;
  }
  if (!any) return;
  // Sends and recvs are numbered apart from collectives.
  const auto index = static_cast<std::uint32_t>(evidence.groups.size());
  models::EvidenceGroup told = evidence.groups.back();
  told.name = told.name + " messages";
  evidence.groups.push_back(std::move(told));
  for (const auto& [ends, calls] : receives) {
    const auto sent = sends.find(ends);
    models::RankEvidence& of = evidence.ranks[ends.second];
    for (std::size_t i = sent == sends.end() ? 0 : sent->second; i < calls.size(); ++i) {
      models::RecordedCall made;
      made.group = index;
      made.messages = true;
      made.sequence = i + 1;
      made.place = calls[i]->place;
      models::RecordedOp& op = made.ops.emplace_back(recorded_op(*calls[i], group.size));
      op.message = true;
      op.source = ends.first;
      op.target = ends.second;
      of.has_dump = true;
      of.calls.push_back(std::move(made));
    }
  }
}

}  // namespace

// Adds the group's calls. A collective counts as done if all known members made it.
void add_nccl_calls(const NcclGroup& group, models::Evidence& evidence) {
  std::map<std::uint32_t, NumberedCalls> calls;
  std::optional<Number> least;
  for (const auto& [rank, member] : group.members) {
    const NumberedCalls& own = calls[rank] = collectives_of(group, rank);
    const Number last = own.empty() ? Number(0, 0) : own.back().first;
    if (!least || last < *least) least = last;
  }
  const auto index = static_cast<std::uint32_t>(evidence.groups.size());
  models::EvidenceGroup told;
  told.name = group.name;
  told.all_members = group.members.size() == group.size;
  told.in_dumps = false;
  for (const auto& [rank, member] : group.members) told.ranks.push_back(rank);
  evidence.groups.push_back(std::move(told));
  for (const auto& [rank, own] : calls) {
    models::RankEvidence& of = evidence.ranks[rank];
    of.has_dump = true;
    // Members without log lines may not have made this rank's last call.
    of.may_wait = of.may_wait || (group.members.size() != group.size && !own.empty());
    for (const auto& [number, call] : own) {
      const bool waits = least < number && models::synchronizes_all(call->operation);
      models::RecordedCall made;
      made.group = index;
      made.sequence = number.first;
      made.repeat = number.second;
      made.place = call->place;
      made.state = waits ? models::CallState::kScheduled : models::CallState::kCompleted;
      models::RecordedOp& op = made.ops.emplace_back(recorded_op(*call, group.size));
      op.state = made.state;
      of.calls.push_back(std::move(made));
    }
    const std::int64_t called = own.empty() ? 0 : clamped(own.back().first.first);
    of.progress.push_back({index, called, -1, models::kUncounted, false,
                           own.empty() ? models::EvidencePlace() : own.back().second->place});
  }
  add_messages(group, evidence);
}

}  // namespace pipesim::formats
