// The `expect:` of a scenario.
#pragma once

#include "formats/scenario/scenario.hpp"
#include "formats/yaml/value_reader.hpp"
#include "formats/yaml/yaml_document.hpp"

namespace pipesim::formats {

/// Appends the expectations of `value` (one, or a list) to those of `scenario`, whose parameters
/// and ranks are known. Mistakes go to the diagnostics of `values`.
void read_expectations(const YamlValue& value, const ValueReader& values, Scenario& scenario);

}  // namespace pipesim::formats
