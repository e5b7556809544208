#include "models/graph/logical_graph.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "models/graph/topological_order.hpp"
#include "sim/ids.hpp"

namespace pipesim::models {
namespace {

struct Dtype {
  std::string_view name;
  std::int64_t bytes;
};

constexpr std::array<Dtype, 9> kDtypes = {{{"float", 4},
                                           {"half", 2},
                                           {"bfloat16", 2},
                                           {"double", 8},
                                           {"int8", 1},
                                           {"uint8", 1},
                                           {"bool", 1},
                                           {"int32", 4},
                                           {"int64", 8}}};

struct OpKindName {
  OpKind kind;
  std::string_view name;
};

constexpr std::array<OpKindName, 12> kOpKindNames = {{
    {OpKind::kInput, "input"},
    {OpKind::kUnpack, "unpack"},
    {OpKind::kVariable, "variable"},
    {OpKind::kRepeat, "repeat"},
    {OpKind::kCompute, "compute"},
    {OpKind::kBuffer, "buffer"},
    {OpKind::kCollective, "collective"},
    {OpKind::kAccumulate, "accumulate"},
    {OpKind::kAccTick, "acc_tick"},
    {OpKind::kPack, "pack"},
    {OpKind::kOutput, "output"},
    {OpKind::kUpdate, "update"},
}};
static_assert(sim::has_row_per_kind(kOpKindNames), "each kind has its name, in their order");

std::string_view pass_text(OpPass pass) {
  switch (pass) {
    case OpPass::kForward:
      return "forward";
    case OpPass::kBackward:
      return "backward";
    case OpPass::kOptimizer:
      break;
  }
  return "optimizer";
}

std::string op_text(const LogicalGraph& graph, const LogicalOp& op) {
  std::string text = op.name + ": " +
                     std::string(kOpKindNames[static_cast<std::size_t>(op.kind)].name) + ", " +
                     std::string(pass_text(op.pass)) + ", stage " + std::to_string(op.stage);
  if (op.gradient_of < graph.ops.size()) text += ", gradient of " + graph.ops[op.gradient_of].name;
  if (op.kind == OpKind::kBuffer) text += ", slots " + std::to_string(op.slots);
  if (op.kind == OpKind::kCollective) text += ", " + op.form;
  if (op.executions != 1) text += ", acts " + std::to_string(op.executions);
  if (!op.stream.empty()) text += ", on " + op.stream;
  const char* sign = "; reads ";
  for (const LogicalInput& input : op.inputs) {
    const LogicalOp& from = graph.ops[input.op];
    text += sign + from.name;
    if (input.control) {
      text += " for its order";
    } else {
      if (input.output != 0) text += '.' + from.outputs[input.output].name;
      text += " as " + nd_sbp_text(input.signature);
    }
    sign = ", ";
  }
  sign = "; gives ";
  for (const LogicalOutput& output : op.outputs) {
    text += sign;
    if (op.outputs.size() > 1) text += output.name + ' ';
    text += nd_sbp_text(output.signature);
    sign = ", ";
  }
  return text;
}

}  // namespace

std::optional<std::int64_t> dtype_bytes(std::string_view dtype) {
  for (const Dtype& known : kDtypes) {
    if (known.name == dtype) return known.bytes;
  }
  return std::nullopt;
}

std::vector<std::string> dtype_names() {
  std::vector<std::string> names;
  for (const Dtype& known : kDtypes) names.emplace_back(known.name);
  return names;
}

std::int64_t TensorType::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

std::int64_t TensorType::bytes_on_a_rank(const NdSbp& signature, Hierarchy hierarchy) const {
  std::int64_t parts = 1;
  if (signature[0].is_split()) parts *= hierarchy.data;
  if (signature[1].is_split()) parts *= hierarchy.tensor;
  return (elements() + parts - 1) / parts * dtype_bytes(dtype).value_or(1);
}

std::string TensorType::shape_text() const {
  std::string text = "(";
  for (const std::int64_t size : shape) {
    if (text.size() > 1) text += ' ';
    text += std::to_string(size);
  }
  return text + ")";
}

bool LogicalGraph::has_done(std::string_view pass) const {
  return std::find(done.begin(), done.end(), pass) != done.end();
}

std::vector<std::uint32_t> topological_order(const LogicalGraph& graph) {
  return topological_order(graph.ops.size(), [&](std::uint32_t i, const auto& use) {
    for (const LogicalInput& input : graph.ops[i].inputs) use(input.op);
  });
}

std::string logical_text(const LogicalGraph& graph) {
  std::string text;
  for (const LogicalOp& op : graph.ops) text += op_text(graph, op) + '\n';
  return text;
}

const std::vector<std::string>& model_passes() {
  static const std::vector<std::string> kPasses = {
      "build-forward", "pipeline-stages",  "gradient-accumulation",
      "autograd",      "pipeline-buffers", "insert-nccl-logical",
      "build-tasks"};
  return kPasses;
}

}  // namespace pipesim::models
