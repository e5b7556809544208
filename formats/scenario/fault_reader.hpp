// The `faults:` and `guards:` of a scenario.
#pragma once

#include <cstdint>

#include "formats/yaml/value_reader.hpp"
#include "formats/yaml/yaml_document.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::formats {

inline constexpr std::int64_t kMostPort = 65'535;

/// Reads the list `faults:` into `graph`, whose actors, communicators and cluster are there.
void read_faults(const YamlValue& value, const ValueReader& values, models::TaskGraph& graph);

/// Reads the map `guards:`.
void read_guards(const YamlValue& value, const ValueReader& values, models::TaskGraph& graph);

/// The index of the host that `value` names, by name or number; models::kNoIndex after a message.
std::uint32_t read_host(const YamlValue& value, const ValueReader& values,
                        const models::Cluster& cluster);

}  // namespace pipesim::formats
