// The title and the legend of a graph.
#pragma once

#include <string>
#include <vector>

#include "models/measure/timeline.hpp"

namespace pipesim::viz {

/// A title, lines below it, the colours of `kinds` and what made the picture, as one of Graphviz's
/// HTML-like labels.
std::string legend_html(const std::string& title, const std::vector<std::string>& lines,
                        const std::vector<models::WorkKind>& kinds = {},
                        const std::string& made_by = {});

}  // namespace pipesim::viz
