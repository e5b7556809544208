// Writers for sections of a scenario: `actors`, `threads`, `programs`.
#pragma once

#include "formats/document/yaml_writer.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::formats {

/// Writes the actors that are not steps of host programs, in order.
YamlNode write_actors(const models::TaskGraph& graph);

/// Whether the program of `thread` has steps, not actors.
bool is_host_program(const models::TaskGraph& graph, const models::HostThread& thread);

/// Writes the host programs of all threads. Writes blocks as their steps. Writes `after` as its two
/// steps, `record` and `wait`, unless `brief`.
YamlNode write_programs(const models::TaskGraph& graph, bool brief);

}  // namespace pipesim::formats
