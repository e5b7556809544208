// The boxing of a model's tensors, in the format of OneFlow's boxing/log/<job>.csv.
#pragma once

#include <string>

#include "models/graph/logical_graph.hpp"

namespace pipesim::viz {

/// Returns a header, and a line for each boxed edge of `graph`. Signatures such as `(S(0), B)` are
/// not quoted: commas inside parentheses do not separate fields.
std::string boxing_csv(const models::LogicalGraph& graph);

}  // namespace pipesim::viz
