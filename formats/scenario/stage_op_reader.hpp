// `ops` of a schedule: what a layer does, op by op.
#pragma once

#include <functional>
#include <optional>

#include "formats/yaml/map_reader.hpp"
#include "formats/yaml/value_reader.hpp"
#include "models/schedules/stage_ops.hpp"

namespace pipesim::formats {

/// Reads what a key of a map has for each stage and micro-batch; nothing where there is no such
/// key.
using AmountsReader = std::function<std::optional<models::StageAmounts>(
    MapReader& map, const char* key, ValueType type)>;

/// Nothing where there are mistakes, which are reported.
std::optional<models::LayerOps> read_layer_ops(const YamlValue& value, const ValueReader& values,
                                               const AmountsReader& amounts);

}  // namespace pipesim::formats
