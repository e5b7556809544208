// The `model:` of a scenario, with `parallel:`, `train:` and `passes:`.
#pragma once

#include <optional>
#include <vector>

#include "formats/yaml/map_reader.hpp"
#include "formats/yaml/value_reader.hpp"
#include "formats/yaml/yaml_document.hpp"
#include "models/graph/logical_graph.hpp"
#include "models/passes/pass_pipeline.hpp"

namespace pipesim::formats {

/// Reads the value of `model:`, and beside it in `map` those of `parallel:` and `train:`. Nothing
/// where there are mistakes, which are reported.
std::optional<models::LogicalGraph> read_model(const YamlValue& value, MapReader& map,
                                               const ValueReader& values);

/// The passes that make tasks of a model, in their order, with the options that `value`, that of
/// `passes:`, gives them. The passes are those of `registry`. Nothing where there are mistakes.
std::optional<std::vector<models::PassCall>> read_passes(const std::optional<YamlValue>& value,
                                                         const models::PassRegistry& registry,
                                                         const ValueReader& values);

}  // namespace pipesim::formats
