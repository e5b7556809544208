// The wait-for graph of a quiescent run: the facts, without an explanation.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/ids.hpp"
#include "sim/plan.hpp"
#include "sim/wait_kinds.hpp"

namespace pipesim::sim {

class State;

/// The kind of a node that can wait or be waited for.
enum class WaitNodeKind : std::uint8_t { kOp, kRank, kOutside };

struct WaitNode {
  WaitNodeKind kind = WaitNodeKind::kOp;
  ActorId actor;        // kOp
  std::uint32_t k = 0;  // kOp: the number of the op, from 0
  RankId rank;          // kOp and kRank: its rank

  friend constexpr auto operator<=>(const WaitNode&, const WaitNode&) = default;
};

/// A wait of `from` for `to`.
struct WaitEdge {
  std::uint32_t from = 0;  // index in WaitGraph::nodes
  std::uint32_t to = 0;
  WaitKind kind = WaitKind::kData;
  RegisterId reg;        // the register of a data or credit wait, else not valid
  ActorId needed_actor;  // the op that must happen, if `to` is an earlier op that blocks this op
  std::uint32_t needed_k = 0;
  LinkId link;  // kFailedLink: the link
  CallId call;  // the first call of the waiting op that waits
  // Edges of a node with the same nonzero number: the end of any one of these waits suffices.
  std::uint32_t any_set = 0;
};

/// A wait-for graph. Nodes are sorted: ops by (actor, k), then ranks, then the outside. Edges are
/// sorted by `from`, then by the order of the rules.
struct WaitGraph {
  std::vector<WaitNode> nodes;
  std::vector<WaitEdge> edges;
};

/// Returns the wait-for graph of a quiescent run with work left. Cost: linear in the number of
/// stuck ops, plus the edges of collectives and registers, one per member.
WaitGraph wait_graph(const Plan& plan, const State& state);

}  // namespace pipesim::sim
