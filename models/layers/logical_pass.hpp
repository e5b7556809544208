// Helpers of the passes that turn a model into tasks.
#pragma once

#include <string>
#include <string_view>

#include "models/graph/diagnostics.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::models {

/// Returns the model in `graph` and records `pass` as done. If there is no model, a required pass
/// is missing, or `pass` comes too late, reports an error and returns nullptr.
LogicalGraph* begin_model_pass(TaskGraph& graph, std::string_view pass, Diagnostics& diagnostics);

/// Returns the name of a layer's op, such as "block0-qk".
std::string op_name(const ModelLayer& layer, const ModelOp& op);

/// Returns the index of the forward op made from op `op` of layer `layer` of the model; kNoIndex if
/// there is none.
std::uint32_t forward_of(const LogicalGraph& graph, std::uint32_t layer, std::uint32_t op);

}  // namespace pipesim::models
