// The `schedule:` of a scenario: a pipeline schedule by its name or row by row, and what it costs.
#pragma once

#include <optional>
#include <string>

#include "formats/yaml/value_reader.hpp"
#include "formats/yaml/yaml_document.hpp"
#include "models/graph/pipeline.hpp"

namespace pipesim::formats {

/// Reads the value of `schedule:`. What comes out has messages, and as many ranks as it needs.
/// Nothing where there are mistakes, which are reported.
std::optional<models::Pipeline> read_pipeline(const YamlValue& value, const ValueReader& values);

/// A scenario that does `schedule`, its costs as parameters: what `pipesim import torch-schedule`
/// prints. Read again it gives the same rows.
std::string pipeline_scenario(const models::Schedule& schedule, const std::string& name);

}  // namespace pipesim::formats
