// Why an act is not done, as text for people.
#pragma once

#include <string>

#include "models/explanation.hpp"
#include "models/why.hpp"
#include "viz/text_report.hpp"

namespace pipesim::viz {

std::string why_text(const models::Explanation& explanation, const models::Why& why,
                     const TextOptions& options);

}  // namespace pipesim::viz
