#include "models/schedules/stage_ops.hpp"

#include <algorithm>
#include <utility>

#include "models/graph/diagnostics.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::models {
namespace {

// An action of a slot, with its ops in one layer.
struct SlotSide {
  std::uint32_t action = 0;
  std::uint32_t layers = 1;
  bool forward = false;
  std::vector<const StageOp*> ops;

  bool has(const StageOp* op) const { return std::find(ops.begin(), ops.end(), op) != ops.end(); }
};

bool op_is_part(const StageOp& op, ActionKind kind) {
  switch (kind) {
    case ActionKind::kForward:
    case ActionKind::kBackward:
      return true;
    case ActionKind::kInputGrad:
      return !op.weight_grad;
    case ActionKind::kWeightGrad:
      return op.weight_grad;
    default:
      return false;
  }
}

std::vector<SlotSide> sides_of(const LayerOps& ops, const Actions& actions, std::size_t begin,
                               const Pipeline& pipeline) {
  std::vector<SlotSide> sides;
  for (std::size_t i = begin; i < slot_end(actions, begin); ++i) {
    SlotSide side;
    side.action = static_cast<std::uint32_t>(i - begin);
    side.layers = pipeline.layers_of(actions[i].stage);
    side.forward = actions[i].kind == ActionKind::kForward;
    for (const StageOp& op : ops.of(side.forward)) {
      if (op_is_part(op, actions[i].kind)) side.ops.push_back(&op);
    }
    sides.push_back(std::move(side));
  }
  return sides;
}

// Returns the ops of one layer of all sides, each with its side.
std::vector<std::pair<const SlotSide*, const StageOp*>> ops_of_layer(
    const LayerOps& ops, const std::vector<SlotSide>& sides) {
  std::vector<std::pair<const SlotSide*, const StageOp*>> result;
  if (!ops.overlapped.empty() && sides.size() == 2 && sides[0].forward != sides[1].forward) {
    for (const OverlappedOp& step : ops.overlapped) {
      const StageOp* op = &ops.of(step.forward)[step.op];
      const SlotSide& side = sides[0].forward == step.forward ? sides[0] : sides[1];
      if (side.has(op)) result.emplace_back(&side, op);
    }
    return result;
  }
  // Actions that begin with a call come first: the call can overlap all computation of the other
  // actions.
  std::vector<const SlotSide*> turns;
  for (const bool calls : {true, false}) {
    for (const SlotSide& side : sides) {
      if (!side.ops.empty() && side.ops.front()->call.has_value() == calls) turns.push_back(&side);
    }
  }
  std::size_t most = 0;
  for (const SlotSide* side : turns) most = std::max(most, side->ops.size());
  for (std::size_t turn = 0; turn < most; ++turn) {
    for (const SlotSide* side : turns) {
      if (turn < side->ops.size()) result.emplace_back(side, side->ops[turn]);
    }
  }
  return result;
}

bool has_fewer_layers(const SlotSide& a, const SlotSide& b) { return a.layers < b.layers; }

bool any_by_micro_batch(const std::vector<StageOp>& ops) {
  return std::any_of(ops.begin(), ops.end(), [](const StageOp& op) { return op.by_micro_batch(); });
}

}  // namespace

std::int64_t StageOp::takes(std::uint32_t stage, std::uint32_t micro_batch) const {
  if (!call) return takes_ns.of(stage, micro_batch);
  return call->takes_ns ? call->takes_ns->of(stage, micro_batch) : 0;
}

bool LayerOps::by_micro_batch() const {
  return any_by_micro_batch(forward) || any_by_micro_batch(backward);
}

const std::vector<std::string>& megatron_overlap() {
  static const std::vector<std::string> kOrder = {
      "B.combine",  "F.attention", "B.mlp",     "F.dispatch",  "B.mlp_dw",
      "B.dispatch", "F.mlp",       "F.combine", "B.attention", "B.attention_dw"};
  return kOrder;
}

bool add_pipeline(Pipeline pipeline, TaskGraph& graph, Diagnostics& diagnostics) {
  return add_pipeline(std::move(pipeline), LayerOps(), graph, diagnostics);
}

std::vector<SlotOp> ops_of_slot(const LayerOps& ops, const Actions& actions, std::size_t begin,
                                const Pipeline& pipeline) {
  std::vector<SlotSide> sides = sides_of(ops, actions, begin, pipeline);
  std::vector<SlotOp> result;
  for (std::uint32_t round = 0; !sides.empty();) {
    const auto layer = ops_of_layer(ops, sides);
    const std::uint32_t end =
        std::min_element(sides.begin(), sides.end(), has_fewer_layers)->layers;
    for (; round < end; ++round) {
      for (std::size_t i = 0; i < layer.size(); ++i) {
        const auto [side, op] = layer[i];
        const bool more =
            std::any_of(layer.begin() + static_cast<std::ptrdiff_t>(i) + 1, layer.end(),
                        [&, of = side](const auto& next) { return next.first == of; });
        const std::uint32_t number = side->forward ? round + 1 : side->layers - round;
        result.push_back({op, side->action, number, !more});
      }
    }
    const auto is_done = [&](const SlotSide& side) { return side.layers == round; };
    sides.erase(std::remove_if(sides.begin(), sides.end(), is_done), sides.end());
  }
  return result;
}

}  // namespace pipesim::models
