// What the passes that make tasks of a model have in common.
#pragma once

#include <string>
#include <string_view>

#include "models/graph/diagnostics.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::models {

/// The model that `graph` still is, for the pass of this name, which is noted as done. nullptr,
/// with an error, where there is none, what the pass builds on is missing, or it comes too late.
LogicalGraph* begin_model_pass(TaskGraph& graph, std::string_view pass, Diagnostics& diagnostics);

/// How an op of a layer is called: block0-qk.
std::string op_name(const ModelLayer& layer, const ModelOp& op);

/// The forward op that was made of `op`, the one of this number in the model's layer `layer`, or
/// kNoIndex: it has none.
std::uint32_t forward_of(const LogicalGraph& graph, std::uint32_t layer, std::uint32_t op);

}  // namespace pipesim::models
