// What it took to make a hanging job smaller, and what is left of it.
#pragma once

#include <string>

#include "models/search/reduce.hpp"

namespace pipesim::viz {

/// Comment lines at the head of the small scenario. `name` is that of the large one.
std::string reduce_heading(const models::Reduction& reduction, const std::string& name);

/// The `expect:` section of the small scenario, with its line end.
std::string reduce_expectation(const models::Reduction& reduction);

/// For people.
std::string reduce_text(const models::Reduction& reduction, const std::string& name);

}  // namespace pipesim::viz
