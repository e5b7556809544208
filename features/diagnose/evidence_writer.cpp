// Writes evidence as a scenario. Simulated communicators match calls in call order, as NCCL does,
// so each communicator must begin with the same call on all ranks. If one member has completed a
// call, the scenario omits the call on all members.
#include "features/diagnose/evidence_writer.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "formats/scenario/scenario_text.hpp"
#include "models/graph/task_graph.hpp"
#include "models/result/end_names.hpp"

namespace pipesim::formats {
namespace {

using models::CallState;
using models::Operation;
using models::RecordedCall;
using models::RecordedOp;
using models::RootReason;

// Returns the operation that the scenario uses for an op with this name. A barrier would block the
// host, so an all_reduce replaces it.
Operation written_as(const std::string& name) {
  const Operation found = models::operation_in(name).value_or(Operation::kAllReduce);
  const bool has_peers = models::is_collective(found) && found != Operation::kBarrier;
  return has_peers ? found : Operation::kAllReduce;
}

class EvidenceWriter {
 public:
  EvidenceWriter(const models::Evidence& evidence, const models::Diagnosis& diagnosis)
      : evidence_(evidence), diagnosis_(diagnosis), index_(evidence) {
    for (const models::Suspect& suspect : diagnosis.suspects) roots_.insert(suspect.rank);
    for (const models::DiagnosisRoot& root : diagnosis.roots) {
      if (root.reason != RootReason::kUnexplained) roots_.insert(root.rank);
      if (root.reason == RootReason::kDeviceStopped) stopped_.insert(root.rank);
    }
    for (const models::Wait& wait : diagnosis.waits) {
      if (wait.kind != sim::WaitKind::kCallOrder) continue;
      behind_[{wait.from.rank, wait.from.op.name, wait.from.op.number}] = {
          wait.to.rank, wait.to.op.name, wait.to.op.number};
    }
  }

  std::string run();

 private:
  // The key of a call in reports: rank, op and number.
  using Told = std::tuple<std::uint32_t, std::string, std::uint32_t>;

  Told told(std::uint32_t rank, const RecordedCall& call) const {
    return {rank, models::call_name(call, evidence_.groups[call.group], rank),
            static_cast<std::uint32_t>(call.sequence)};
  }
  std::string communicator(const RecordedCall& call);
  void add_order(std::uint32_t rank, const RecordedCall& call, ScenarioMap& step);
  void collect();
  bool goes_on(std::uint32_t rank) const;
  void add_missing(std::uint32_t rank);
  // Group, sender, receiver, and whether the sends are coalesced.
  using Ends = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, bool>;
  struct BothEnds {
    std::vector<const RecordedOp*> sends;
    std::vector<const RecordedOp*> receives;
  };
  std::map<Ends, BothEnds> pending_messages() const;
  void add_missing_messages();
  bool is_done_elsewhere(const RecordedCall& call) const;
  std::string name_of(std::uint32_t group) const;
  std::string group_name(std::uint32_t group);
  std::string pair_name(std::uint32_t group, std::uint32_t a, std::uint32_t b);
  ScenarioMap step(std::uint32_t rank, const RecordedCall& call);
  static ScenarioMap message(std::uint32_t rank, const RecordedOp& op,
                             const std::string& communicator);
  ScenarioMap collective(const RecordedCall& call);
  YamlNode program(std::uint32_t rank);

  const models::Evidence& evidence_;
  const models::Diagnosis& diagnosis_;
  models::CallIndex index_;
  std::set<std::uint32_t> roots_;
  std::set<std::uint32_t> stopped_;
  // Calls that are blocked by call order, each with the call that blocks it.
  std::map<Told, Told> behind_;
  std::vector<std::vector<const RecordedCall*>> pending_;  // [rank]
  // [rank]: calls to add, which other ranks wait for
  std::vector<std::vector<RecordedCall>> later_;
  std::map<std::string, std::vector<std::uint32_t>> groups_;  // groups in use, with their ranks
};

// Returns a plain and unique name for a group, because group names may contain any characters.
std::string EvidenceWriter::name_of(std::uint32_t group) const {
  std::string name = "pg" + plain_name(evidence_.groups[group].name);
  // Distinguishes groups that share a name.
  for (std::uint32_t other = 0; other < group; ++other) {
    if (evidence_.groups[other].name == evidence_.groups[group].name) {
      name += fmt::format("_{}", group);
      break;
    }
  }
  return name;
}

std::string EvidenceWriter::group_name(std::uint32_t group) {
  std::string name = name_of(group);
  groups_.emplace(name, evidence_.groups[group].ranks);
  return name;
}

// Returns the name of a group of two ranks. Their sends and recvs outside of coalesced calls have
// their own stream.
std::string EvidenceWriter::pair_name(std::uint32_t group, std::uint32_t a, std::uint32_t b) {
  std::string name = fmt::format("{}_{}_{}", name_of(group), std::min(a, b), std::max(a, b));
  std::vector<std::uint32_t> ranks = {std::min(a, b)};
  if (a != b) ranks.push_back(std::max(a, b));
  groups_.emplace(name, std::move(ranks));
  return name;
}

bool EvidenceWriter::is_done_elsewhere(const RecordedCall& call) const {
  const std::vector<std::uint32_t>& members = evidence_.groups[call.group].ranks;
  return !call.messages && std::any_of(members.begin(), members.end(), [&](std::uint32_t member) {
    std::uint32_t theirs = 0;
    const models::Called called = index_.collective(member, key_of(call), &theirs);
    return called == models::Called::kDone ||
           (called == models::Called::kYes &&
            evidence_.ranks[member].calls[theirs].state == CallState::kCompleted);
  });
}

void EvidenceWriter::collect() {
  pending_.resize(evidence_.ranks.size());
  later_.resize(evidence_.ranks.size());
  for (std::uint32_t rank = 0; rank < evidence_.ranks.size(); ++rank) {
    if (stopped_.count(rank) > 0) continue;
    for (const RecordedCall& call : evidence_.ranks[rank].calls) {
      // For some sends and recvs, the evidence has only the sequence number.
      const bool is_told = !call.messages || !call.ops.empty();
      if (is_told && call.state != CallState::kCompleted && !is_done_elsewhere(call)) {
        pending_[rank].push_back(&call);
      }
    }
  }
  for (std::uint32_t rank = 0; rank < evidence_.ranks.size(); ++rank) add_missing(rank);
  add_missing_messages();
}

// Whether the rank continues once its device is done. A rank without a dump that is not a root is
// assumed to have made the calls of the other ranks.
bool EvidenceWriter::goes_on(std::uint32_t rank) const {
  if (roots_.count(rank) > 0) return false;
  return !evidence_.ranks[rank].has_dump || !pending_[rank].empty();
}

// Adds the collectives that are pending on other ranks and that `rank` has not called, as later
// calls of `rank`.
void EvidenceWriter::add_missing(std::uint32_t rank) {
  if (!goes_on(rank)) return;
  std::map<models::CollectiveKey, const RecordedCall*> missing;
  for (const auto& calls : pending_) {
    for (const RecordedCall* call : calls) {
      if (call->messages) continue;
      const std::vector<std::uint32_t>& members = evidence_.groups[call->group].ranks;
      if (!std::binary_search(members.begin(), members.end(), rank)) continue;
      std::uint32_t own = 0;
      const models::Called called = index_.collective(rank, key_of(*call), &own);
      const bool lacks = called == models::Called::kNo || called == models::Called::kUnknown;
      if (lacks) missing.emplace(key_of(*call), call);
    }
  }
  for (const auto& [key, call] : missing) {
    later_[rank].push_back(*call);
    later_[rank].back().at.clear();  // `at` is the line of another rank
  }
}

// Returns the pending sends and recvs by group and pair of ranks.
std::map<EvidenceWriter::Ends, EvidenceWriter::BothEnds> EvidenceWriter::pending_messages() const {
  std::map<Ends, BothEnds> result;
  for (const auto& calls : pending_) {
    for (const RecordedCall* call : calls) {
      for (const RecordedOp& op : call->ops) {
        if (!op.message) continue;
        BothEnds& both = result[{call->group, op.source, op.target, call->coalesced}];
        (op.is_send() ? both.sends : both.receives).push_back(&op);
      }
    }
  }
  return result;
}

// Adds the missing calls that match pending sends and recvs.
void EvidenceWriter::add_missing_messages() {
  for (const auto& [key, both] : pending_messages()) {
    const auto& [group, source, target, coalesced] = key;
    const bool more_sends = both.sends.size() > both.receives.size();
    const auto& more = more_sends ? both.sends : both.receives;
    const std::uint32_t rank = more_sends ? target : source;
    if (rank == models::kAnyRank || !goes_on(rank)) continue;
    for (std::size_t i = std::min(both.sends.size(), both.receives.size()); i < more.size(); ++i) {
      RecordedCall call;
      call.group = group;
      call.messages = true;
      call.coalesced = coalesced;
      call.ops.push_back(*more[i]);
      call.ops.front().name = more_sends ? "recv" : "send";
      later_[rank].push_back(std::move(call));
    }
  }
}

ScenarioMap EvidenceWriter::message(std::uint32_t rank, const RecordedOp& op,
                                    const std::string& communicator) {
  const bool sends = op.source == rank;
  const std::int64_t size =
      std::max<std::int64_t>(1, models::elements(sends ? op.input_sizes : op.output_sizes));
  ScenarioMap step(sends ? "send" : "recv", communicator);
  if (op.source == models::kAnyRank) {
    step.value("from", "any");
  } else {
    step.number(sends ? "to" : "from", sends ? op.target : op.source);
  }
  return step.value("bytes", fmt::format("{}B", size));
}

ScenarioMap EvidenceWriter::collective(const RecordedCall& call) {
  const RecordedOp* op = call.ops.empty() ? nullptr : &call.ops.front();
  const Operation operation = written_as(op == nullptr ? call.end_name : op->name);
  ScenarioMap result(models::operation_name(operation), group_name(call.group));
  if (models::has_root(operation)) {  // the evidence does not name the root
    result.number("root", evidence_.groups[call.group].ranks.front());
  }
  // In an all_to_all, each rank has its own sizes.
  const std::int64_t in = op == nullptr ? 0 : models::elements(op->input_sizes);
  const std::int64_t out = op == nullptr ? 0 : models::elements(op->output_sizes);
  const std::int64_t size =
      operation == Operation::kAllToAll ? 1 : std::max<std::int64_t>(1, std::min(in, out));
  return result.value("bytes", fmt::format("{}B", size));
}

ScenarioMap EvidenceWriter::step(std::uint32_t rank, const RecordedCall& call) {
  ScenarioMap result;
  if (!call.messages) {
    result = collective(call);
  } else if (!call.coalesced && !call.ops.empty()) {
    result = message(rank, call.ops.front(), communicator(call));
  } else {
    YamlNode calls = YamlNode::list();
    for (const RecordedOp& op : call.ops) {
      if (op.message) calls.add(message(rank, op, group_name(call.group)));
    }
    result.add("group", std::move(calls));
  }
  return result.optional_text("at", call.at);
}

std::string EvidenceWriter::communicator(const RecordedCall& call) {
  if (!call.messages || call.coalesced) return group_name(call.group);
  const RecordedOp& op = call.ops.front();
  if (op.source == models::kAnyRank) return group_name(call.group);
  return pair_name(call.group, op.source, op.target);
}

// Adds the key `after` to the step of a call that is assumed to be queued after a call of another
// stream.
void EvidenceWriter::add_order(std::uint32_t rank, const RecordedCall& call, ScenarioMap& step) {
  const auto order = behind_.find(told(rank, call));
  if (order == behind_.end()) return;
  for (const RecordedCall* other : pending_[rank]) {
    if (told(rank, *other) != order->second) continue;
    step.names("after", {models::calls_stream(communicator(*other))});
    return;
  }
}

YamlNode EvidenceWriter::program(std::uint32_t rank) {
  YamlNode steps = YamlNode::list();
  if (stopped_.count(rank) > 0) {
    steps.add(ScenarioMap("compute", fmt::format("kernel {}", rank)).value("takes", "1us"));
  }
  for (const RecordedCall* call : pending_[rank]) {
    ScenarioMap item = step(rank, *call);
    add_order(rank, *call, item);
    steps.add(std::move(item));
  }
  if (!steps.empty()) steps.add(ScenarioMap("synchronize", "device"));
  for (const RecordedCall& call : later_[rank]) {
    steps.add(step(rank, call));
  }
  return steps;
}

std::string EvidenceWriter::run() {
  const sim::Verdict verdict = diagnosis_.explanation.verdict;
  const bool suspected = verdict == sim::Verdict::kLimit && !diagnosis_.suspects.empty();
  if (verdict == sim::Verdict::kCompleted) return {};
  if (verdict == sim::Verdict::kLimit && !suspected) return {};
  if (diagnosis_.pending == 0) return {};
  collect();
  ScenarioText scenario("evidence");
  // Uses the reading contract: the ranks had already connected for these calls, and the evidence
  // does not show why a send waits.
  scenario.set("reading", YamlNode::text("contract"));
  scenario.set_ranks(evidence_.ranks.size());
  for (std::uint32_t rank = 0; rank < evidence_.ranks.size(); ++rank) {
    scenario.add_program(rank, program(rank));
    if (stopped_.count(rank) == 0) continue;
    scenario.add("faults", ScenarioMap()
                               .number("rank", rank)
                               .text("fails", "device error")
                               .text("act", fmt::format("kernel {}#1", rank)));
  }
  for (const auto& [name, ranks] : groups_) scenario.add("groups", name, rank_list(ranks));
  const bool is_known = verdict == sim::Verdict::kDeadlock || verdict == sim::Verdict::kMismatch;
  ScenarioMap expect("verdict", models::verdict_name(is_known ? verdict : sim::Verdict::kStarved));
  if (verdict == sim::Verdict::kStarved || suspected)
    expect.add("roots", rank_list({roots_.begin(), roots_.end()}));
  scenario.set("expect", std::move(expect));
  return scenario.take_text();
}

}  // namespace

std::string write_evidence_scenario(const models::Evidence& evidence,
                                    const models::Diagnosis& diagnosis) {
  return EvidenceWriter(evidence, diagnosis).run();
}

}  // namespace pipesim::formats
