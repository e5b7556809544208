#include "models/layers/logical_pass.hpp"

#include <algorithm>

namespace pipesim::models {

LogicalGraph* begin_model_pass(TaskGraph& graph, std::string_view pass, Diagnostics& diagnostics) {
  const std::string name = "'" + std::string(pass) + "'";
  if (!graph.logical) {
    diagnostics.error({}, Code::kPassOrder, name + " works on a model, but this is a task graph")
        .notes.emplace_back("only a scenario with the key 'model' has one");
    return nullptr;
  }
  LogicalGraph& logical = *graph.logical;
  const std::vector<std::string>& order = model_passes();
  const auto own = std::find(order.begin(), order.end(), pass);
  for (auto before = order.begin(); before != own; ++before) {
    // The first two passes, which make the ops and their stages, are required.
    const bool needed = before - order.begin() < 2;
    if (!needed || logical.has_done(*before)) continue;
    diagnostics.error({}, Code::kPassOrder, name + " must come after '" + *before + "'");
    return nullptr;
  }
  for (auto after = own; after != order.end(); ++after) {
    if (!logical.has_done(*after)) continue;
    diagnostics.error(
        {}, Code::kPassOrder,
        after == own ? name + " can run only once" : name + " must come before '" + *after + "'");
    return nullptr;
  }
  logical.done.emplace_back(pass);
  return &logical;
}

std::string op_name(const ModelLayer& layer, const ModelOp& op) {
  return layer.name + "-" + op.name;
}

std::uint32_t forward_of(const LogicalGraph& graph, std::uint32_t layer, std::uint32_t op) {
  for (std::uint32_t i = 0; i < graph.ops.size(); ++i) {
    const LogicalOp& known = graph.ops[i];
    const bool is_it = known.layer == layer && known.model_op == op &&
                       known.kind == OpKind::kCompute && known.pass == OpPass::kForward;
    if (is_it) return i;
  }
  return kNoIndex;
}

}  // namespace pipesim::models
