// Makes a step of several micro-batches: inserts an unpack after the user's input, a repeat after
// each variable, and a pack before the user's output. With one micro-batch, inserts nothing. The
// pass autograd later adds an accumulate, which sums a variable's gradients over the micro-batches.
//
// OneFlow inserts unpack, repeat and pack during tracing
// (core/framework/op_interpreter/lazy_op_interpreter.cpp).
#include <string>
#include <utility>
#include <vector>

#include "models/layers/logical_pass.hpp"
#include "models/layers/shipped_passes.hpp"

namespace pipesim::models {
namespace {

// Inserts an op of `kind` after `source`. All readers of `source` then read the new op.
void put_behind(LogicalGraph& graph, std::uint32_t source, OpKind kind, std::string name,
                std::int64_t takes) {
  const std::int64_t times = graph.training.accumulation;
  LogicalOp op;
  op.name = std::move(name);
  op.kind = kind;
  const LogicalOp& before = graph.ops[source];
  op.place = before.place;
  op.layer = before.layer;
  op.stage = before.stage;
  op.on_host = before.on_host;
  op.counts = false;
  op.takes_ns = takes;
  op.executions = times;
  op.times = times;
  op.inputs = {{source, 0, before.outputs.front().signature}};
  op.outputs = before.outputs;
  const std::uint32_t made = graph.add(std::move(op));
  for (std::uint32_t i = 0; i < made; ++i) {
    for (LogicalInput& input : graph.ops[i].inputs) {
      if (input.op == source) input.op = made;
    }
  }
}

// Inserts a pack between the output and its source, on the stage of the source.
void put_pack(LogicalGraph& graph, std::uint32_t output) {
  const std::uint32_t source = graph.ops[output].inputs.front().op;
  LogicalOp op;
  op.name = "Pack-" + graph.ops[source].name;
  op.kind = OpKind::kPack;
  op.place = graph.ops[source].place;
  op.layer = graph.ops[source].layer;
  op.stage = graph.ops[source].stage;
  op.counts = false;
  op.takes_ns = graph.model.costs.pack_ns;
  op.executions = graph.training.accumulation;
  op.times = op.executions;
  op.inputs = graph.ops[output].inputs;
  op.outputs = {graph.ops[source].outputs.front()};
  const std::uint32_t made = graph.add(std::move(op));
  graph.ops[output].inputs.front().op = made;
}

void run_gradient_accumulation(TaskGraph& graph, const PassOptions& options,
                               Diagnostics& diagnostics) {
  LogicalGraph* logical = begin_model_pass(graph, "gradient-accumulation", diagnostics);
  if (logical == nullptr) return;
  logical->decisions.repeat_control_slots = options.number("repeat_control_slots");
  if (logical->training.accumulation == 1) return;
  const auto count = static_cast<std::uint32_t>(logical->ops.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    const OpKind kind = logical->ops[i].kind;
    const std::string name = logical->ops[i].name;
    if (kind == OpKind::kInput) {
      put_behind(*logical, i, OpKind::kUnpack, "Unpack-" + name, logical->model.costs.pack_ns);
    } else if (kind == OpKind::kVariable) {
      put_behind(*logical, i, OpKind::kRepeat, "Repeat-" + name, logical->model.costs.repeat_ns);
    } else if (kind == OpKind::kOutput) {
      put_pack(*logical, i);
    } else {
      logical->ops[i].executions = logical->training.accumulation;
    }
  }
}

}  // namespace

Pass gradient_accumulation_pass() {
  PassOption slots = {"repeat_control_slots", OptionType::kNumber, "1",
                      "of the control registers of a Repeat; 0: as many as of its data (#8226)"};
  slots.at_least = 0;
  return {"gradient-accumulation",
          "makes a step of several micro-batches: repeat, unpack, pack",
          {slots},
          run_gradient_accumulation};
}

}  // namespace pipesim::models
