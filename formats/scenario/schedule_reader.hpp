// The `schedule:` of a scenario: a pipeline schedule by name or row by row, and its costs.
#pragma once

#include <optional>
#include <string>

#include "formats/document/value_reader.hpp"
#include "formats/document/yaml_document.hpp"
#include "models/graph/pipeline.hpp"
#include "models/schedules/rank_grid.hpp"
#include "models/schedules/stage_ops.hpp"

namespace pipesim::formats {

/// Reads the value of `schedule:` and adds sends and recvs. Returns nullopt after an error. If
/// `grid` is given, the job has one such pipeline for each rank of a stage. `cluster` is the value
/// of the key `cluster`, for the transfer times that a schedule by costs needs; mistakes in
/// `cluster` are not reported. `ops` gets the ops of a layer, if the schedule states them.
std::optional<models::Pipeline> read_pipeline(const YamlValue& value, const ValueReader& values,
                                              const models::RankGrid* grid,
                                              const std::optional<YamlValue>& cluster,
                                              models::LayerOps& ops);

/// Returns a scenario that runs `schedule`, with its costs as parameters: the output of `pipesim
/// import torch-schedule`. The scenario reads back as the same rows.
std::string pipeline_scenario(const models::Schedule& schedule, const std::string& name);

}  // namespace pipesim::formats
