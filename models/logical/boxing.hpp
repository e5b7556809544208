// Boxing: what brings a tensor from the signature and the ranks it lies in to those it is read in.
//
// As in OneFlow's task graph (core/graph/boxing/ at a90c81d589): the change of signature is
// reduced, the dispatcher says over which groups of ranks it is done, and in each group the first
// builder of a chain that can do it does.
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

/// The builders of the one-dimensional chain, in its order. OneFlow's names end in
/// SubTskGphBuilder. B21 and NaiveB2B change the number of ranks, which stages do not.
enum class BoxingBuilder : std::uint8_t {
  kOneToOne,          // each rank from its like
  kCollectiveBoxing,  // one collective of the boxing executor
  kSliceBoxing,       // copies of pieces, cut and joined
  kNaiveB2P,          // the tensor on the first rank of a group, zeros on the others
};

std::string_view builder_name(BoxingBuilder builder);

/// One builder at work in all groups over `change.over`.
struct BoxingStep {
  BoxingBuilder builder = BoxingBuilder::kOneToOne;
  Transition change;
  std::string dispatcher;  // Flat, IntraGroup, InterGroup

  friend bool operator==(const BoxingStep&, const BoxingStep&) = default;
};

/// From where to where.
struct BoxingEdge {
  NdSbp from;
  NdSbp to;
  std::uint32_t from_stage = 0;
  std::uint32_t to_stage = 0;
  bool from_host = false;
  bool to_host = false;
  std::int64_t acts = 1;  // how often in a step
};

/// How an edge is done; the last step goes to the ranks of the reader. Where no builder can, there
/// are no steps, and `why` says so; else it says why these.
struct BoxingRoute {
  std::vector<BoxingStep> steps;
  std::string why;
};

/// `collective_boxing`: the executor of collectives takes part (nccl_use_compute_stream is off).
BoxingRoute boxing_route(const BoxingEdge& edge, Hierarchy hierarchy, bool collective_boxing);

/// The edge of an input, and whether it is one: reads of the same ranks in the same signature, and
/// those that are for their order only, need no boxing.
BoxingEdge edge_of(const LogicalGraph& graph, const LogicalOp& reader, const LogicalInput& input);
bool needs_boxing(const BoxingEdge& edge, Hierarchy hierarchy);

/// An NCCL op that insert-nccl-logical may put in, for an edge between ops of one stage.
struct LogicalCollective {
  Operation operation = Operation::kAllGather;
  std::string form;  // S2B, (*S0)2(*B)
  Dimensions over = Dimensions::kBoth;
};

/// The NCCL op for this change of signature, if OneFlow has one: P2B, P2S, S2B, S2S over all ranks
/// of a stage; inside of tensor-parallel groups P and S to B, and S to S; across them P to B.
std::optional<LogicalCollective> logical_collective(const NdSbp& from, const NdSbp& to,
                                                    Hierarchy hierarchy);

/// What a boxing route is told with, a row as in OneFlow's boxing/log/<job>.csv: src_op_name,
/// dst_op_name, src_parallel_desc, dst_parallel_desc, src_nd_sbp, dst_nd_sbp, lbi, dtype, shape,
/// builder, comment.
using BoxingRow = std::array<std::string, 11>;

/// The rows of all edges that need boxing, those that an NCCL op is in among them, in topological
/// order of the readers.
std::vector<BoxingRow> boxing_rows(const LogicalGraph& graph);

}  // namespace pipesim::models
