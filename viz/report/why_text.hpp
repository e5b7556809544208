// The reason that an op is not done, as text.
#pragma once

#include <string>

#include "models/result/explanation.hpp"
#include "models/result/why.hpp"
#include "viz/report/report.hpp"

namespace pipesim::viz {

std::string why_text(const models::Explanation& explanation, const models::Why& why,
                     const TextOptions& options);

}  // namespace pipesim::viz
