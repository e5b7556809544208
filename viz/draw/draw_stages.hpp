// Pipeline stages, or ranks that are copies of each other, and what goes between them.
#pragma once

#include <string>

#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
#include "viz/draw/graphviz.hpp"

namespace pipesim::viz {

/// The most nodes that are laid out.
inline constexpr std::size_t kMaxStages = 300;

/// Of a pipeline schedule a node per stage, with its rank and costs; else a node per class of ranks
/// (models/lowering/rank_classes.hpp), with what they have and do. Edges are what goes from one to
/// another. Throws DrawingError, also where there are more than kMaxStages nodes.
std::string draw_stages(const models::TaskGraph& graph, const models::Lowered& lowered,
                        PictureFormat format);

}  // namespace pipesim::viz
