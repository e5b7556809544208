// The `cluster:` of a scenario, and what else names its links.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "formats/yaml/value_reader.hpp"
#include "formats/yaml/yaml_document.hpp"
#include "models/graph/cluster.hpp"

namespace pipesim::formats {

/// Reads the value of `cluster:` for a job of `ranks` ranks. Nothing where it is nothing (`~`), or
/// has mistakes, which are reported. All that is left out has a default, see
/// docs/reference/scenario-format.md.
std::optional<models::Cluster> read_cluster(const YamlValue& value, const ValueReader& values,
                                            std::uint32_t ranks);

/// The cluster in `text`: YAML that is the value of `cluster:`, or a map with that key, such as a
/// scenario, whose other keys are not looked at. Nothing where there is none, or it has mistakes,
/// which `diagnostics` then has.
std::optional<models::Cluster> read_cluster_text(const std::string& text, std::uint32_t ranks,
                                                 models::Diagnostics& diagnostics);

/// Reads a list of link classes, or one, as indices in the links of `cluster`. Without a cluster
/// only the names are checked, and nothing comes out.
std::vector<std::uint32_t> read_links_of(const YamlValue& value, const ValueReader& values,
                                         const models::Cluster* cluster);

/// The links, in order of preference, of ranks on one host, or on different ones, where a cluster
/// does not say them.
std::vector<std::uint32_t> usual_links(const models::Cluster& cluster, bool inside_host);

/// Reads `ring`, `tree` or `direct`.
std::optional<models::Algorithm> read_algorithm(const YamlValue& value, const ValueReader& values);

}  // namespace pipesim::formats
