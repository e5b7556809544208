// How the tensors of a model are boxed, as OneFlow's boxing/log/<job>.csv tells it.
#pragma once

#include <string>

#include "models/graph/logical_graph.hpp"

namespace pipesim::viz {

/// A header, and a line for each edge of `graph` that is boxed. Signatures stand as they are,
/// `(S(0), B)`: fields are parted by the commas that are in no parentheses.
std::string boxing_csv(const models::LogicalGraph& graph);

}  // namespace pipesim::viz
