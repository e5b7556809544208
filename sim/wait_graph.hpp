// Who waits for whom in a quiescent run: the facts, without an explanation.
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
  kFirstMessage,     // the host of the other end, at the first use of a connection
  kFirstCollective,  // the hosts of the others, likewise
  kHostMeeting,      // the hosts of others, in a step of role kMeet
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
  // Of collective algorithms (docs/reference/algorithms.md):
  kSlot,        // a connection is full
  kDependency,  // on a step of the same rank
  kSignal,
  kSemaphore,
  kBarrier,
  kPacket,
};
inline constexpr int kWaitKindCount = 26;

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
  CallId call;                // of the act that waits: the first of its calls that does
  std::uint32_t any_set = 0;  // edges of a node with the same number, not 0: any one suffices
};

/// Nodes: first the acts, by (actor, k), then ranks, then the outside. Edges: by `from`, then in
/// the order of the rules.
struct WaitGraph {
  std::vector<WaitNode> nodes;
  std::vector<WaitEdge> edges;
};

/// The wait-for graph of a quiescent run with work left. Linear in what is stuck, except for
/// collectives and registers with many members, which have an edge each.
WaitGraph wait_graph(const Plan& plan, const State& state);

}  // namespace pipesim::sim
