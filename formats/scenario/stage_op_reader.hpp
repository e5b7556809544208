// The `ops` of a schedule: the ops of a layer.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "formats/document/map_reader.hpp"
#include "formats/document/value_reader.hpp"
#include "models/schedules/stage_ops.hpp"

namespace pipesim::formats {

/// A function that reads a key of a map, with values per stage and micro-batch. Returns nullopt if
/// the map lacks the key.
using AmountsReader = std::function<std::optional<models::StageAmounts>(
    MapReader& map, const char* key, ValueType type)>;

/// Reads `call`, `over` and `order` of a collective, or of exchanges in a ring, into `call`.
/// Returns the word for the call.
std::string read_stage_call(MapReader& map, const ValueReader& values,
                            models::StageCollective& call);

/// Reads the ops of a layer. Returns nullopt after an error.
std::optional<models::LayerOps> read_layer_ops(const YamlValue& value, const ValueReader& values,
                                               const AmountsReader& amounts);

}  // namespace pipesim::formats
