// What a forward and a backward do in one layer, op by op, and in which order a rank launches the
// ops of a forward and a backward that overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/graph/pipeline.hpp"
#include "models/graph/schedule.hpp"

namespace pipesim::models {

/// An op of a layer. It waits for the op of its action before it, but for gradients of weights:
/// nothing of its action waits for one of these.
struct StageOp {
  Place place;
  std::string name;
  bool weight_grad = false;
  StageAmounts takes_ns{{0}};           // of an op that computes
  std::optional<StageCollective> call;  // of one that does not

  bool by_micro_batch() const { return call ? call->by_micro_batch() : takes_ns.by_micro_batch(); }
  /// As far as it is said: of a call, the time may follow from size and cluster.
  std::int64_t takes(std::uint32_t stage, std::uint32_t micro_batch) const;
};

/// A step of the order of two actions that overlap: an op of the forward, or of the backward.
struct OverlappedOp {
  bool forward = false;
  std::uint32_t op = 0;
};

struct LayerOps {
  std::vector<StageOp> forward;
  std::vector<StageOp> backward;
  std::vector<OverlappedOp> overlapped;  // each op once; none: the actions take turns

  bool empty() const { return forward.empty(); }
  const std::vector<StageOp>& of(bool is_forward) const { return is_forward ? forward : backward; }
  bool by_micro_batch() const;
};

/// The order of Megatron-LM's TransformerLayerSchedulePlan.run, as "B.combine", "F.attention".
const std::vector<std::string>& megatron_overlap();

/// An op of a slot.
struct SlotOp {
  const StageOp* op = nullptr;
  std::uint32_t action = 0;  // of the slot
  std::uint32_t layer = 1;   // of the stage, from 1; backwards begin with the last
  bool ends_layer = false;   // the last op of its action in this layer
};

/// What the slot of `actions` that begins at `begin` does in the layers of its stages, in the order
/// in which its rank launches it. Where these are not equally many, what is left of one action
/// follows alone, as in Megatron-LM's TransformerModelChunkSchedulePlan.run.
std::vector<SlotOp> ops_of_slot(const LayerOps& ops, const Actions& actions, std::size_t begin,
                                const Pipeline& pipeline);

/// As above, with the forwards and backwards done op by op.
bool add_pipeline(Pipeline pipeline, const LayerOps& ops, TaskGraph& graph,
                  Diagnostics& diagnostics);

}  // namespace pipesim::models
