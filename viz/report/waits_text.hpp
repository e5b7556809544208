// Waits as text, with one stanza per wait.
#pragma once

#include <string>
#include <vector>

#include "models/result/explanation.hpp"
#include "viz/report/styled.hpp"

namespace pipesim::viz {

/// Returns a numbered stanza per wait. If `cycle`, the last wait leads back to wait 1. With `fold`,
/// a series of waits that differ only in their ranks shows only its first and last.
std::string waits_text(const std::vector<models::Wait>& waits, bool cycle, bool fold,
                       const TextOptions& options);

}  // namespace pipesim::viz
