// Interface to Graphviz's program `dot`, which draws PNG and PDF. These formats need fonts and a
// rasterizer, which pipesim does not link.
#pragma once

#include <string>

namespace pipesim::viz {

/// Returns `graph`, a graph in DOT, as drawn by `dot -Kengine -Tformat`. `engine` is "dot", or
/// "nop2" if the nodes have positions. Throws UserError if PATH has no `dot`, or with the error
/// message of `dot`.
std::string drawn_by_dot(const std::string& graph, const std::string& engine,
                         const std::string& format);

}  // namespace pipesim::viz
