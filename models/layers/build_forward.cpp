// The ops of the forward with their variables: a chain from the user's input to the user's output,
// as OneFlow's tracing of nn.Graph creates it.
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/layers/logical_pass.hpp"
#include "models/layers/shipped_passes.hpp"

namespace pipesim::models {
namespace {

class ForwardBuilder {
 public:
  ForwardBuilder(LogicalGraph& graph, Diagnostics& diagnostics)
      : graph_(graph), diagnostics_(diagnostics) {}

  void run() {
    const Model& model = graph_.model;
    LogicalOp input = made("images", OpKind::kInput, model.place);
    input.on_host = true;
    input.takes_ns = model.costs.input_ns;
    input.outputs = {{"out", model.input, model.input_signature}};
    check("the input", input.outputs.front(), model.place);
    last_ = graph_.add(std::move(input));
    for (std::uint32_t layer = 0; layer < model.layers.size(); ++layer) {
      for (std::uint32_t op = 0; op < model.layers[layer].ops.size(); ++op) add(layer, op);
    }
    LogicalOp output = made("output", OpKind::kOutput, model.place);
    output.layer = static_cast<std::uint32_t>(model.layers.size()) - 1;
    output.on_host = true;
    output.inputs = {{last_, 0, graph_.ops[last_].outputs.front().signature}};
    graph_.add(std::move(output));
  }

 private:
  static LogicalOp made(std::string name, OpKind kind, Place place) {
    LogicalOp op;
    op.name = std::move(name);
    op.kind = kind;
    op.place = place;
    return op;
  }

  void add(std::uint32_t layer, std::uint32_t index) {
    const ModelLayer& of = graph_.model.layers[layer];
    const ModelOp& model_op = of.ops[index];
    if (model_op.only_backward) return;
    LogicalOp op = made(op_name(of, model_op), OpKind::kCompute, model_op.place);
    op.layer = layer;
    op.model_op = index;
    op.takes_ns = model_op.takes_ns;
    op.inputs.push_back({last_, 0, model_op.in});
    op.outputs = {{"out", model_op.type, model_op.out}};
    check("'" + op.name + "'", op.outputs.front(), op.place);
    for (const ModelVariable& variable : model_op.variables) {
      LogicalOp weights = made(op.name + "-" + variable.name, OpKind::kVariable, variable.place);
      weights.layer = layer;
      weights.outputs = {{"out", variable.type, variable.signature}};
      check("'" + weights.name + "'", weights.outputs.front(), variable.place);
      op.inputs.push_back({graph_.add(std::move(weights)), 0, variable.signature});
    }
    last_ = graph_.add(std::move(op));
  }

  // Checks that a split tensor has the split axis, and that the axis divides into equal parts.
  void check(const std::string& what, const LogicalOutput& output, Place place) {
    const std::vector<std::int64_t>& shape = output.type.shape;
    std::vector<std::int64_t> parts(shape.size(), 1);
    const std::array<std::int64_t, 2> ranks = {graph_.layout.hierarchy.data,
                                               graph_.layout.hierarchy.tensor};
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const Sbp& sbp = output.signature[i];
      if (!sbp.is_split()) continue;
      if (sbp.axis >= shape.size()) {
        tell(place, what + " is split along axis " + std::to_string(sbp.axis) +
                        ", but its shape is " + output.type.shape_text());
        return;
      }
      parts[sbp.axis] *= ranks[i];
    }
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (shape[axis] % parts[axis] == 0) continue;
      tell(place, what + " cannot be split into " + std::to_string(parts[axis]) +
                      " equal parts along axis " + std::to_string(axis) + " of its shape " +
                      output.type.shape_text());
    }
  }

  // Reports an error, but only once for all layers with the same place in the file.
  void tell(Place place, std::string message) {
    if (place.line == 0 || told_.insert(place).second) {
      diagnostics_.error(place, Code::kSignature, std::move(message));
    }
  }

  LogicalGraph& graph_;
  Diagnostics& diagnostics_;
  std::uint32_t last_ = 0;
  std::set<Place> told_;
};

void run_build_forward(TaskGraph& graph, const PassOptions& /*options*/, Diagnostics& diagnostics) {
  LogicalGraph* logical = begin_model_pass(graph, "build-forward", diagnostics);
  if (logical != nullptr) ForwardBuilder(*logical, diagnostics).run();
}

}  // namespace

Pass build_forward_pass() {
  return {"build-forward",
          "makes the ops of the forward of the layers of a model",
          {},
          run_build_forward};
}

}  // namespace pipesim::models
