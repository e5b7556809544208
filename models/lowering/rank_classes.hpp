// Which ranks are copies of each other.
#pragma once

#include <cstdint>
#include <vector>

#include "models/graph/rank_set.hpp"
#include "models/lowering/lowering.hpp"

namespace pipesim::models {

/// Those of `ranks` that have the same actors with as many slots and acts, on the same streams, and
/// do the same programs, are one class. In the order of their first ranks. With whom they talk does
/// not matter: copies talk to copies.
std::vector<RankSet> rank_classes(const Lowered& lowered, const RankSet& ranks);

}  // namespace pipesim::models
