// The `cluster:` of a scenario, and other keys that name its links.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "formats/document/value_reader.hpp"
#include "formats/document/yaml_document.hpp"
#include "models/graph/cluster.hpp"

namespace pipesim::formats {

/// Reads the value of `cluster:` for a job of `ranks` ranks. Returns nullopt if the value is null
/// (`~`) or after an error. Omitted keys have defaults, see docs/reference/scenario-format.md.
std::optional<models::Cluster> read_cluster(const YamlValue& value, const ValueReader& values,
                                            std::uint32_t ranks);

/// Reads one link class, or a list, and returns indices in the links of `cluster`. Without a
/// cluster, only checks the names and returns an empty list.
std::vector<std::uint32_t> read_links_of(const YamlValue& value, const ValueReader& values,
                                         const models::Cluster* cluster);

/// Returns the default links between ranks on one host, or on different hosts, in order of
/// preference.
std::vector<std::uint32_t> usual_links(const models::Cluster& cluster, bool inside_host);

/// Reads `ring`, `tree` or `direct`.
std::optional<models::Algorithm> read_algorithm(const YamlValue& value, const ValueReader& values);

}  // namespace pipesim::formats
