// Graphviz's program `dot`, which makes PNG and PDF: these need fonts and a rasterizer, which are
// not linked into pipesim.
#pragma once

#include <string>

namespace pipesim::viz {

/// What `dot -Kengine -Tformat` makes of a graph in DOT. `engine` is "dot", or "nop2" if the nodes
/// have positions. Throws UserError if PATH has no `dot`, or with what it complains about.
std::string drawn_by_dot(const std::string& graph, const std::string& engine,
                         const std::string& format);

}  // namespace pipesim::viz
