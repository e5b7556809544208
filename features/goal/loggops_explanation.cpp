#include "features/goal/loggops_explanation.hpp"

#include <algorithm>
#include <optional>

namespace pipesim::models {
namespace {

using sim::ActorId;
using sim::kNever;
using sim::WaitEdge;
using sim::WaitNodeKind;

OpInfo describe_op(const LogGopsResult& result, ActorId op) {
  const sim::LogGopsOp& what = result.program.ops[op.value];
  const LogGopsOpName name = result.name(op);
  OpInfo info;
  info.actor = op;
  info.rank = what.rank;
  info.name = name.name;
  info.number = 1;
  info.stream = "cpu " + std::to_string(what.cpu);
  info.thread = info.stream;
  info.at = name.at;
  info.statement = name.statement;
  if (what.kind == sim::LogGopsKind::kSend) info.call = sim::CallKind::kSend;
  if (what.kind == sim::LogGopsKind::kReceive) info.call = sim::CallKind::kReceive;
  if (result.outcome.ops[op.value].done != kNever) {
    info.stage = OpStage::kDone;
  } else if (result.outcome.ops[op.value].start != kNever) {
    info.stage = OpStage::kStarted;
  }
  return info;
}

// Returns the first op of `rank` that has started and is not done; without such an op, the first
// that is not done.
std::optional<ActorId> stuck_op(const LogGopsResult& result, sim::RankId rank) {
  std::optional<ActorId> first;
  for (std::uint32_t op = result.program.rank_begin[rank]; op < result.program.rank_end[rank];
       ++op) {
    if (result.outcome.ops[op].done != kNever) continue;
    if (result.outcome.ops[op].start != kNever) return ActorId{op};
    if (!first) first = ActorId{op};
  }
  return first;
}

// Returns the first wait of `op`. Nodes are sorted by op, with ranks and the outside at the end;
// edges are sorted by node.
std::optional<Wait> first_wait(const LogGopsResult& result, ActorId op) {
  const auto& nodes = result.waits.nodes;
  const auto node =
      std::lower_bound(nodes.begin(), nodes.end(), op,
                       [](const sim::WaitNode& it, ActorId wanted) { return it.actor < wanted; });
  const auto index = static_cast<std::uint32_t>(node - nodes.begin());
  const auto& edges = result.waits.edges;
  const auto edge =
      std::lower_bound(edges.begin(), edges.end(), index,
                       [](const WaitEdge& it, std::uint32_t from) { return it.from < from; });
  if (node == nodes.end() || edge == edges.end() || edge->from != index) return std::nullopt;
  return describe_wait(result, *edge);
}

RankReport report_rank(const LogGopsResult& result, sim::RankId rank) {
  RankReport report;
  report.rank = rank.value;
  Progress progress;
  progress.what = "ops";
  progress.of = Progress::Of::kOps;
  const std::uint32_t begin = result.program.rank_begin[rank];
  const std::uint32_t end = result.program.rank_end[rank];
  progress.expected = end - begin;
  const auto ops = result.outcome.ops.begin();
  progress.done = static_cast<std::uint32_t>(std::count_if(
      ops + begin, ops + end, [](const sim::LogGopsOpState& op) { return op.done != kNever; }));
  if (const std::optional<ActorId> op = stuck_op(result, rank)) {
    progress.stuck = describe_op(result, *op);
    progress.wait = first_wait(result, *op);
  } else {
    report.finish_ns = result.outcome.finish[rank].ns;
  }
  report.progress.push_back(std::move(progress));
  return report;
}

}  // namespace

Wait describe_wait(const LogGopsResult& result, const WaitEdge& edge) {
  const auto party = [&](std::uint32_t node) {
    const sim::WaitNode& it = result.waits.nodes[node];
    WaitParty other;
    other.kind = it.kind;
    other.rank = it.rank.value;
    if (it.kind == WaitNodeKind::kOp) other.op = describe_op(result, it.actor);
    return other;
  };
  Wait wait;
  wait.from = party(edge.from);
  wait.to = party(edge.to);
  wait.kind = edge.kind;
  wait.any = edge.any_set != 0;
  return wait;
}

Explanation explain(const LogGopsResult& result) {
  Explanation explanation;
  explanation.time_ns = result.outcome.last().ns;
  explanation.ops_done = result.outcome.ops_done;
  explanation.ops_expected = result.program.ops.size();
  switch (result.outcome.end) {
    case sim::RunEnd::kCompleted:
      break;
    case sim::RunEnd::kStuck:
      explain_waits(
          result.waits, [&](const WaitEdge& edge) { return describe_wait(result, edge); }, true,
          explanation);
      break;
    case sim::RunEnd::kInterrupted:
      explanation.verdict = sim::Verdict::kLimit;
      explanation.cause = Cause::kInterrupted;
      break;
    case sim::RunEnd::kTimeLimit:
    case sim::RunEnd::kUntil:
      explanation.verdict = sim::Verdict::kLimit;
      explanation.cause = Cause::kLimit;
      break;
  }
  explanation.fingerprint = sim::Fingerprint::of(result.outcome.digests, explanation.verdict);
  for (const sim::RankId rank : ids_of(result.outcome.finish)) {
    explanation.ranks.push_back(report_rank(result, rank));
  }
  return explanation;
}

}  // namespace pipesim::models
