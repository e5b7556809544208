// The title and the legend of a graph.
#pragma once

#include <string>
#include <vector>

#include "models/result/timeline.hpp"

namespace pipesim::viz {

/// Returns an HTML-like label for Graphviz: the title, lines below it, the colors of `kinds`, and
/// the command that made the picture.
std::string legend_html(const std::string& title, const std::vector<std::string>& lines,
                        const std::vector<models::WorkKind>& kinds = {},
                        const std::string& made_by = {});

}  // namespace pipesim::viz
