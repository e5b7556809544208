// Who waits for whom when a run has come to rest: the facts, without an explanation.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/ids.hpp"
#include "sim/plan.hpp"

namespace pipesim::sim {

class State;

/// Why a node waits (docs/reference/rules.md, 7).
enum class WaitKind : std::uint8_t {
  kStreamOrder,
  kData,
  kCreditData,
  kCreditControl,
  kPeerOfCollective,
  kCommunicatorCreation,
  kLaunchQueue,
  kHostWait,
  kOutsideInput,
  kDeviceRoom,
  kPeerOfMessage,
  kLock,
  kDeadRank,
  kFailedLink,
  kRequires,   // the end of an op (docs/reference/goal.md)
  kIRequires,  // its start
  kCallOrder,  // of a real job: called later by the same rank (docs/how-to/diagnose.md)
};
inline constexpr int kWaitKindCount = 17;

/// What can wait or be waited for.
enum class WaitNodeKind : std::uint8_t { kAct, kRank, kOutside };

struct WaitNode {
  WaitNodeKind kind = WaitNodeKind::kAct;
  ActorId actor;        // kAct
  std::uint32_t k = 0;  // kAct: which act, from 0
  RankId rank;          // kAct and kRank

  friend constexpr auto operator<=>(const WaitNode&, const WaitNode&) = default;
};

/// `from` waits for `to`.
struct WaitEdge {
  std::uint32_t from = 0;  // indices into WaitGraph::nodes
  std::uint32_t to = 0;
  WaitKind kind = WaitKind::kData;
  RegisterId reg;        // the register of a data or credit wait, else not valid
  ActorId needed_actor;  // the act that must happen, where an earlier act stands for it in `to`
  std::uint32_t needed_k = 0;
  LinkId link;                // of a failed link
  std::uint32_t any_set = 0;  // edges of one node with the same number, not 0: one of them suffices
};

/// Nodes: first the acts, by (actor, k), then ranks, then the outside. Edges: by `from`, then in
/// the order of the rules.
struct WaitGraph {
  std::vector<WaitNode> nodes;
  std::vector<WaitEdge> edges;
};

/// The wait-for graph of a run that has come to rest with work left. Linear in what is stuck, but
/// for collectives and registers with many members, which give an edge each.
WaitGraph wait_graph(const Plan& plan, const State& state);

}  // namespace pipesim::sim
