// The `schedule:` of a scenario: a pipeline schedule by its name or row by row, and what it costs.
#pragma once

#include <optional>
#include <string>

#include "formats/yaml/value_reader.hpp"
#include "formats/yaml/yaml_document.hpp"
#include "models/graph/pipeline.hpp"
#include "models/schedules/rank_grid.hpp"
#include "models/schedules/stage_ops.hpp"

namespace pipesim::formats {

/// Reads the value of `schedule:`. What comes out has messages, and as many ranks as it needs.
/// Nothing where there are mistakes, which are reported.
/// Where `grid` is given, there is one such pipeline for each of its ranks of a stage. `cluster` is
/// the value of that key: a schedule that follows the costs needs to know what messages take. Its
/// mistakes are not reported here. `ops` gets what a layer does, if that is said op by op.
std::optional<models::Pipeline> read_pipeline(const YamlValue& value, const ValueReader& values,
                                              const models::RankGrid* grid,
                                              const std::optional<YamlValue>& cluster,
                                              models::LayerOps& ops);

/// A scenario that does `schedule`, its costs as parameters: what `pipesim import torch-schedule`
/// prints. Read again it gives the same rows.
std::string pipeline_scenario(const models::Schedule& schedule, const std::string& name);

}  // namespace pipesim::formats
