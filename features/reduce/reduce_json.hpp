// The reduction of a hanging job, as JSON.
#pragma once

#include <string>

#include "features/reduce/reduce.hpp"

namespace pipesim::viz {

/// Returns one JSON object with a line end. docs/reference/json.md describes every key.
std::string reduce_json(const models::Reduction& reduction, const std::string& name);

}  // namespace pipesim::viz
