// The ops of forwards and backwards in one layer, and the order in which a rank launches the ops of
// an overlapping forward and backward.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/graph/pipeline.hpp"
#include "models/graph/schedule.hpp"

namespace pipesim::models {

/// An op of a layer, which waits for the previous op of its action. Exception: no op of the action
/// waits for a weight gradient.
struct StageOp {
  Place place;
  std::string name;
  bool weight_grad = false;
  StageAmounts takes_ns{{0}};           // duration of an op that computes
  std::optional<StageCollective> call;  // call of an op that communicates

  bool by_micro_batch() const { return call ? call->by_micro_batch() : takes_ns.by_micro_batch(); }
  /// Returns the stated time; 0 for a call without one, whose time can follow from its size and the
  /// cluster.
  std::int64_t takes(std::uint32_t stage, std::uint32_t micro_batch) const;
};

/// A step in the launch order of two overlapping actions: an op of the forward or of the backward.
struct OverlappedOp {
  bool forward = false;
  std::uint32_t op = 0;
};

struct LayerOps {
  std::vector<StageOp> forward;
  std::vector<StageOp> backward;
  std::vector<OverlappedOp> overlapped;  // each op once; empty: the actions take turns

  bool empty() const { return forward.empty(); }
  const std::vector<StageOp>& of(bool is_forward) const { return is_forward ? forward : backward; }
  bool by_micro_batch() const;
};

/// Returns the order of Megatron-LM's TransformerLayerSchedulePlan.run, as "B.combine",
/// "F.attention".
const std::vector<std::string>& megatron_overlap();

/// An op of a slot.
struct SlotOp {
  const StageOp* op = nullptr;
  std::uint32_t action = 0;  // index of the op's action in the slot
  std::uint32_t layer = 1;   // layer of the stage, from 1; backwards begin with the last layer
  bool ends_layer = false;   // whether this is the last op of its action in this layer
};

/// Returns the ops of the slot that begins at `begin`, for all layers of its stages, in launch
/// order. If the actions have different numbers of layers, the remaining layers of one action
/// follow alone, as in Megatron-LM's TransformerModelChunkSchedulePlan.run.
std::vector<SlotOp> ops_of_slot(const LayerOps& ops, const Actions& actions, std::size_t begin,
                                const Pipeline& pipeline);

/// Adds `pipeline` like add_pipeline() without `ops`, but runs forwards and backwards op by op.
bool add_pipeline(Pipeline pipeline, const LayerOps& ops, TaskGraph& graph,
                  Diagnostics& diagnostics);

}  // namespace pipesim::models
