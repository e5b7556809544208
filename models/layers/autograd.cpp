// The backward and the optimizer. Each forward op gets a gradient op, which reads the gradient of
// the forward op's output, the saved tensor and the variables. The gradient op computes the
// gradients of the forward op's input and variables.
//
// The gradient op of a repeat is an accumulate (OneFlow's acc, named <repeat>_grad). The gradient
// op of an unpack would be a pack, but the user's input needs no gradient.
#include <string>
#include <utility>
#include <vector>

#include "models/layers/logical_pass.hpp"
#include "models/layers/shipped_passes.hpp"

namespace pipesim::models {
namespace {

class Backward {
 public:
  explicit Backward(LogicalGraph& graph) : graph_(graph) {}

  void run() {
    const std::vector<ModelLayer>& layers = graph_.model.layers;
    for (auto layer = static_cast<std::uint32_t>(layers.size()); layer-- > 0;) {
      for (auto op = static_cast<std::uint32_t>(layers[layer].ops.size()); op-- > 0;) {
        add(layer, op);
      }
    }
  }

 private:
  void add(std::uint32_t layer, std::uint32_t index) {
    const ModelLayer& of = graph_.model.layers[layer];
    const ModelOp& model_op = of.ops[index];
    const std::uint32_t forward = forward_of(graph_, layer, index);
    LogicalOp op;
    op.name = op_name(of, model_op);
    if (!model_op.only_backward) op.name += "_grad";
    op.place = model_op.place;
    op.pass = OpPass::kBackward;
    op.layer = layer;
    op.model_op = index;
    op.gradient_of = forward;
    op.stage = graph_.stage_of_layer[layer];
    op.takes_ns = model_op.gradient_takes_ns;
    op.executions = graph_.has_done("gradient-accumulation") ? graph_.training.accumulation : 1;
    if (last_ != kNoIndex) op.inputs.push_back({last_, 0, model_op.gradient_in});
    if (forward != kNoIndex) add_saved(model_op, forward, op);
    op.outputs = {{"out", model_op.type, model_op.gradient_out}};
    if (forward != kNoIndex) op.outputs.front().type = type_read_by(forward);
    for (const ModelVariable& variable : model_op.variables) {
      op.outputs.push_back({variable.name + "_grad", variable.type, variable.gradient});
    }
    last_ = graph_.add(std::move(op));
    for (std::uint32_t i = 0; i < model_op.variables.size(); ++i) {
      add_gradient_of(graph_.ops[forward].inputs[1 + i].op, model_op.variables[i], i + 1);
    }
  }

  const TensorType& type_read_by(std::uint32_t forward) const {
    const LogicalInput& input = graph_.ops[forward].inputs.front();
    return graph_.ops[input.op].outputs[input.output].type;
  }

  // Adds the saved tensor, and the variables that the gradient op needs, as inputs of `op`. A saved
  // tensor keeps its signature, so no boxing is needed. The first op of the backward always reads
  // the output of its forward op.
  void add_saved(const ModelOp& model_op, std::uint32_t forward, LogicalOp& op) const {
    const LogicalOp& of = graph_.ops[forward];
    LogicalInput saved = {forward, 0, of.outputs.front().signature};
    if (op.inputs.empty() || model_op.saves == Saved::kOutput) op.inputs.push_back(saved);
    if (model_op.saves == Saved::kInput) {
      saved = of.inputs.front();
      saved.signature = graph_.ops[saved.op].outputs[saved.output].signature;
      op.inputs.push_back(saved);
    }
    for (std::size_t i = 0; i < model_op.variables.size(); ++i) {
      if (!model_op.variables[i].read_by_gradient) continue;
      op.inputs.push_back({of.inputs[1 + i].op, 0, model_op.variables[i].like});
    }
  }

  // Adds the ops that use the gradient of `variable`: an accumulate if the variable is repeated for
  // several micro-batches, and an update if the training has an optimizer.
  void add_gradient_of(std::uint32_t source, const ModelVariable& variable, std::uint32_t output) {
    const bool repeats = graph_.ops[source].kind == OpKind::kRepeat;
    const std::uint32_t weights = repeats ? graph_.ops[source].inputs.front().op : source;
    LogicalInput gradient = {last_, output, variable.gradient};
    LogicalOp op;
    op.place = variable.place;
    op.layer = graph_.ops[source].layer;
    op.stage = graph_.ops[source].stage;
    op.counts = false;
    if (repeats) {
      LogicalOp acc = op;
      acc.name = "Acc-" + graph_.ops[weights].name;
      acc.kind = OpKind::kAccumulate;
      acc.pass = OpPass::kBackward;
      acc.takes_ns = graph_.model.costs.accumulate_ns;
      acc.executions = graph_.training.accumulation;
      acc.times = acc.executions;
      acc.gradient_of = source;
      acc.inputs = {gradient};
      acc.outputs = {{"out", variable.type, variable.gradient}};
      gradient = {graph_.add(std::move(acc)), 0, variable.gradient};
    }
    if (!graph_.training.has_optimizer) return;
    op.name = "Update-" + graph_.ops[weights].name;
    op.kind = OpKind::kUpdate;
    op.pass = OpPass::kOptimizer;
    op.takes_ns = graph_.model.costs.update_ns;
    gradient.signature = variable.signature;
    op.inputs = {gradient};
    graph_.add(std::move(op));
  }

  LogicalGraph& graph_;
  std::uint32_t last_ = kNoIndex;  // op that computes the gradient of the next forward op's output
};

void run_autograd(TaskGraph& graph, const PassOptions& /*options*/, Diagnostics& diagnostics) {
  LogicalGraph* logical = begin_model_pass(graph, "autograd", diagnostics);
  if (logical != nullptr) Backward(*logical).run();
}

}  // namespace

Pass autograd_pass() {
  return {"autograd", "adds the backward of a model, and its optimizer", {}, run_autograd};
}

}  // namespace pipesim::models
