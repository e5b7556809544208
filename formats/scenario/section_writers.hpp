// The writers of sections of a scenario: `actors`, `threads`, `programs`.
#pragma once

#include "formats/yaml/yaml_writer.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::formats {

/// The actors that are no steps of host programs, in their order.
YamlNode write_actors(const models::TaskGraph& graph);

/// Whether the program of `thread` is one of steps, and not of actors.
bool is_host_program(const models::TaskGraph& graph, const models::HostThread& thread);

/// The host programs of all threads. A block stands with its steps written out, and `after`, unless
/// they are `brief`, as the two steps that it is: `record` and `wait`.
YamlNode write_programs(const models::TaskGraph& graph, bool brief);

}  // namespace pipesim::formats
