// The stage of each layer: the layer's own setting, or an equal share for layers without one. The
// first op of a stage reads the previous stage through an extra op on its own stage, as the user's
// to_global() creates it (hierarchical_parallel_cast). So the saved tensor is on the stage of the
// gradient op that reads it.
//
// OneFlow's FixPipelineStageIdPass gives all ops of one placement one stage; here a stage is a
// placement.
#include <string>
#include <utility>
#include <vector>

#include "models/layers/logical_pass.hpp"
#include "models/layers/shipped_passes.hpp"

namespace pipesim::models {
namespace {

// Returns the stage of each layer; empty after an error.
std::vector<std::uint32_t> stages_of_layers(const LogicalGraph& graph, Diagnostics& diagnostics) {
  const std::int64_t stages = graph.layout.stages;
  std::int64_t open = 0;
  for (const ModelLayer& layer : graph.model.layers) open += layer.stage ? 0 : 1;
  const std::string of_stages = std::to_string(stages) + " stages";
  if (open > 0 && open < stages) {
    diagnostics.error(graph.layout.stages_place, Code::kStages,
                      of_stages + " cannot share " + std::to_string(open) + " layer" +
                          (open == 1 ? "" : "s") + ": each needs at least one");
    return {};
  }
  if (open % stages != 0) {
    diagnostics
        .error(graph.layout.stages_place, Code::kStages,
               std::to_string(open) + " layers cannot be divided among " + of_stages)
        .notes.emplace_back(
            "layers that say 'stage' are not counted: those before the first and after the last "
            "block do");
    return {};
  }
  std::vector<std::uint32_t> result;
  std::int64_t next = 0;
  for (const ModelLayer& layer : graph.model.layers) {
    std::int64_t stage = layer.stage.value_or(0);
    if (!layer.stage) {
      stage = next++ / (open / stages);
    } else if (stage < 0) {
      stage += stages;
    }
    if (stage < 0 || stage >= stages) {
      diagnostics.error(layer.place, Code::kStages,
                        "layer '" + layer.name + "' is in stage " + std::to_string(*layer.stage) +
                            ", but there are " + of_stages);
      continue;
    }
    if (!result.empty() && stage < result.back()) {
      diagnostics.error(layer.place, Code::kStages,
                        "layer '" + layer.name + "' is in stage " + std::to_string(stage) +
                            ", after one in stage " + std::to_string(result.back()));
      continue;
    }
    result.push_back(static_cast<std::uint32_t>(stage));
  }
  return result;
}

// Adds an op at the head of a stage, between `reader` and its input from the previous stage.
void add_cast(LogicalGraph& graph, std::uint32_t reader) {
  const LogicalInput input = graph.ops[reader].inputs.front();
  const LogicalOp& source = graph.ops[input.op];
  LogicalOp cast;
  cast.stage = graph.ops[reader].stage;
  cast.layer = graph.ops[reader].layer;
  cast.name = source.name + "-to_stage" + std::to_string(cast.stage);
  cast.place = graph.ops[reader].place;
  cast.inputs = {{input.op, input.output, source.outputs[input.output].signature}};
  cast.outputs = {{"out", source.outputs[input.output].type, cast.inputs.front().signature}};
  const std::uint32_t made = graph.add(std::move(cast));
  graph.ops[reader].inputs.front().op = made;
  graph.ops[reader].inputs.front().output = 0;
}

void run_pipeline_stages(TaskGraph& graph, const PassOptions& /*options*/,
                         Diagnostics& diagnostics) {
  LogicalGraph* logical = begin_model_pass(graph, "pipeline-stages", diagnostics);
  if (logical == nullptr) return;
  logical->stage_of_layer = stages_of_layers(*logical, diagnostics);
  if (diagnostics.has_errors()) return;
  std::vector<bool> used(logical->layout.stages, false);
  for (LogicalOp& op : logical->ops) {
    if (op.kind != OpKind::kInput) op.stage = logical->stage_of_layer[op.layer];
    used[op.stage] = used[op.stage] || op.kind == OpKind::kCompute;
  }
  for (std::size_t stage = 0; stage < used.size(); ++stage) {
    if (used[stage]) continue;
    diagnostics.error(logical->layout.stages_place, Code::kStages,
                      "stage " + std::to_string(stage) + " has no op");
  }
  if (diagnostics.has_errors()) return;
  const auto count = static_cast<std::uint32_t>(logical->ops.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    const LogicalOp& op = logical->ops[i];
    if (op.kind != OpKind::kCompute) continue;
    if (logical->ops[op.inputs.front().op].stage != op.stage) add_cast(*logical, i);
  }
}

}  // namespace

Pass pipeline_stages_pass() {
  return {"pipeline-stages",
          "gives each layer of a model its stage, in equal shares",
          {},
          run_pipeline_stages};
}

}  // namespace pipesim::models
