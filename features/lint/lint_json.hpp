// The findings of lint in a task graph, as JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "features/lint/lint.hpp"

namespace pipesim::viz {

/// Returns one JSON object with a line end. docs/reference/json.md describes every key.
std::string lint_json(const std::vector<models::LintFinding>& findings, std::string_view scenario);

}  // namespace pipesim::viz
