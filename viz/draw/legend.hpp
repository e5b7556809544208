// The title and the legend of a graph.
#pragma once

#include <string>
#include <vector>

#include "models/measure/timeline.hpp"

namespace pipesim::viz {

/// A title, lines below it, and the colours of `kinds`, as one of Graphviz's HTML-like labels.
std::string legend_html(const std::string& title, const std::vector<std::string>& lines,
                        const std::vector<models::WorkKind>& kinds = {});

}  // namespace pipesim::viz
