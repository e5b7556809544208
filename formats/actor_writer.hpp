// The `actors:` of a scenario, written.
#pragma once

#include "formats/yaml_writer.hpp"
#include "models/task_graph.hpp"

namespace pipesim::formats {

/// The actors that are no steps of host programs, in their order.
YamlNode write_actors(const models::TaskGraph& graph);

}  // namespace pipesim::formats
