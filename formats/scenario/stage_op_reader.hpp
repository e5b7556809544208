// `ops` of a schedule: what a layer does, op by op.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "formats/yaml/map_reader.hpp"
#include "formats/yaml/value_reader.hpp"
#include "models/schedules/stage_ops.hpp"

namespace pipesim::formats {

/// Reads what a key of a map has for each stage and micro-batch; nothing where there is no such
/// key.
using AmountsReader = std::function<std::optional<models::StageAmounts>(
    MapReader& map, const char* key, ValueType type)>;

/// Reads `call`, `over` and `order` of a collective, or of exchanges in a ring, into `call`, and
/// returns the word for it.
std::string read_stage_call(MapReader& map, const ValueReader& values,
                            models::StageCollective& call);

/// Nothing where there are mistakes, which are reported.
std::optional<models::LayerOps> read_layer_ops(const YamlValue& value, const ValueReader& values,
                                               const AmountsReader& amounts);

}  // namespace pipesim::formats
