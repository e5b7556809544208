// Waits, one stanza each.
#pragma once

#include <string>
#include <vector>

#include "models/explain/explanation.hpp"
#include "viz/styled.hpp"

namespace pipesim::viz {

/// A numbered stanza for each of the waits; if they are a cycle, the last leads to wait 1. With
/// `fold`, a run of waits that are the same but for their ranks is told by its first and its last.
std::string waits_text(const std::vector<models::Wait>& waits, bool cycle, bool fold,
                       const TextOptions& options);

}  // namespace pipesim::viz
