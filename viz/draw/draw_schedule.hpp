// The tasks of a pipeline schedule as a picture: what each rank computes in which order, and what
// each action needs of other ranks.
#pragma once

#include <string>

#include "models/graph/pipeline.hpp"
#include "models/graph/rank_set.hpp"
#include "viz/draw/graphviz.hpp"

namespace pipesim::viz {

/// A row per rank of `ranks` with its forwards and backwards; messages are arrows. `title` stands
/// above. Throws DrawingError, also where there are more actions than `most`.
std::string draw_schedule(const models::Pipeline& pipeline, const models::RankSet& ranks,
                          const std::string& title, std::size_t most, PictureFormat format);

}  // namespace pipesim::viz
