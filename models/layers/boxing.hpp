// Boxing: the tasks that bring a tensor from the signature and ranks of its producer to the
// signature and ranks of its reader.
//
// Follows OneFlow's task graph (core/graph/boxing/ at a90c81d589). A change of signature is reduced
// to at most two simple changes; for each, the dispatcher chooses the groups of ranks. Each group
// uses the first builder of a chain that supports the change.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/logical_graph.hpp"
#include "models/graph/operation.hpp"

namespace pipesim::models {

/// The builders of the one-dimensional chain, in order. OneFlow's names end in SubTskGphBuilder.
/// B21 and NaiveB2B are missing: these builders change the number of ranks, but all stages have the
/// same number.
enum class BoxingBuilder : std::uint8_t {
  kOneToOne,          // each rank reads from its counterpart
  kCollectiveBoxing,  // one collective of the boxing executor
  kSliceBoxing,       // copies of pieces, cut and joined
  kNaiveB2P,          // the tensor on the first rank of a group, zeros on the others
};

std::string_view builder_name(BoxingBuilder builder);

/// The use of one builder in all groups over `change.over`.
struct BoxingStep {
  BoxingBuilder builder = BoxingBuilder::kOneToOne;
  Transition change;
  std::string dispatcher;  // OneFlow's name: Flat, IntraGroup, InterGroup

  friend bool operator==(const BoxingStep&, const BoxingStep&) = default;
};

/// The producer and the reader of a tensor.
struct BoxingEdge {
  NdSbp from;
  NdSbp to;
  std::uint32_t from_stage = 0;
  std::uint32_t to_stage = 0;
  bool from_host = false;
  bool to_host = false;
  std::int64_t ops = 1;  // tensors produced per step
};

/// The boxing of an edge; the last step ends on the ranks of the reader. If no builder supports the
/// edge, there are no steps, and `why` is the reason. Otherwise `why` explains the choice.
struct BoxingRoute {
  std::vector<BoxingStep> steps;
  std::string why;
};

/// Returns the boxing of an edge. `collective_boxing`: the executor of collectives takes part
/// (nccl_use_compute_stream is off).
BoxingRoute boxing_route(const BoxingEdge& edge, Hierarchy hierarchy, bool collective_boxing);

/// Return the edge of `input`, and whether an edge needs boxing. Control inputs, and reads on the
/// same ranks in the same signature, need no boxing.
BoxingEdge edge_of(const LogicalGraph& graph, const LogicalOp& reader, const LogicalInput& input);
bool needs_boxing(const BoxingEdge& edge, Hierarchy hierarchy);

/// An NCCL op that insert-nccl-logical can insert in an edge between ops of one stage.
struct LogicalCollective {
  Operation operation = Operation::kAllGather;
  std::string form;  // S2B, (*S0)2(*B)
  Dimensions over = Dimensions::kBoth;
};

/// Returns the NCCL op for a change of signature, if OneFlow has one: P2B, P2S, S2B, S2S over all
/// ranks of a stage; P or S to B, and S to S, within tensor-parallel groups; P to B across them.
std::optional<LogicalCollective> logical_collective(const NdSbp& from, const NdSbp& to,
                                                    Hierarchy hierarchy);

/// The description of a boxing route, a row as in OneFlow's boxing/log/<job>.csv: src_op_name,
/// dst_op_name, src_parallel_desc, dst_parallel_desc, src_nd_sbp, dst_nd_sbp, lbi, dtype, shape,
/// builder, comment.
using BoxingRow = std::array<std::string, 11>;

/// Returns the rows of all edges that need boxing, including edges with an NCCL op, in topological
/// order of the readers.
std::vector<BoxingRow> boxing_rows(const LogicalGraph& graph);

}  // namespace pipesim::models
