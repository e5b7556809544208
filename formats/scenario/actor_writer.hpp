// The `actors:` of a scenario, written.
#pragma once

#include "formats/yaml/yaml_writer.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::formats {

/// The actors that are no steps of host programs, in their order.
YamlNode write_actors(const models::TaskGraph& graph);

}  // namespace pipesim::formats
