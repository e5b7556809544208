// The edits that remove a hang, as text.
#pragma once

#include <string>

#include "features/fix/fix.hpp"

namespace pipesim::viz {

/// Returns the report on the scenario of that name.
std::string fix_text(const models::FixReport& report, const std::string& scenario);

}  // namespace pipesim::viz
