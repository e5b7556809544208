// The twin's wait-for graph: docs/reference/rules.md, sections 7, 9.6 and 10.6.
#pragma once

#include <compare>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "tests/twin/machine.hpp"

namespace pipesim::twin {

enum class NodeKind { kOp, kRank, kOutside };

struct Node {
  NodeKind kind = NodeKind::kOp;
  Op op;         // kOp: the op
  int rank = 0;  // kRank

  friend auto operator<=>(const Node&, const Node&) = default;
};

Node op_node(Op op);
Node rank_node(int rank);
Node outside_node();

enum class Wait {
  kStreamOrder,
  kData,
  kCreditData,
  kCreditControl,
  kPeerOfCollective,
  kCommunicatorInit,
  kFirstMessage,
  kFirstCollective,
  kHostMeeting,
  kLaunchQueue,
  kHostWait,
  kOutsideInput,
  kKernelSlots,
  kPeerOfMessage,
  kLock,
  kProgress,
  kDeadRank,
  kFailedLink,
  kAborted,
};

/// `from` waits for `to`.
struct WaitEdge {
  Node from;
  Node to;
  Wait kind = Wait::kData;

  friend auto operator<=>(const WaitEdge&, const WaitEdge&) = default;
};

/// The edges of the graph, each with whether it belongs to an ANY set.
using WaitEdges = std::map<WaitEdge, bool>;

/// Returns the wait-for graph of a quiescent machine with work left. Throws std::logic_error if the
/// rules leave a wait without an explanation. Records rare branches in machine.branches.
WaitEdges wait_edges(Machine& machine);

/// Whether some node can be reached from itself; edges of ANY sets count like other edges.
bool has_cycle(const WaitEdges& edges);

/// Returns "act 3#0" for the first op of actor 3.
std::string text(const Node& node);
std::string text(const WaitEdge& edge);

/// Returns the names of the kinds of waits, in their order.
const std::vector<std::string>& wait_names();

}  // namespace pipesim::twin
