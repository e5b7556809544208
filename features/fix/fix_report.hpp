// The edits that remove a hang, as text and as JSON.
#pragma once

#include <string>

#include "features/fix/fix.hpp"

namespace pipesim::viz {

/// Returns the report as text. `scenario` is the name of the scenario.
std::string fix_text(const models::FixReport& report, const std::string& scenario);

/// Returns one JSON object with a line end. `scenario` is the name of the scenario; `script` is a
/// JSON object with changes of the script, or empty. docs/reference/json.md describes every key.
std::string fix_json(const models::FixReport& report, const std::string& scenario,
                     const std::string& script = {});

}  // namespace pipesim::viz
