// Writes task graphs as scenarios. formats/scenario/scenario.hpp reads them.
#pragma once

#include <cstdint>
#include <string>

#include "models/graph/task_graph.hpp"

namespace pipesim::formats {

/// The form of a written scenario.
enum class ScenarioForm : std::uint8_t {
  kExact,  // reads back as the same graph
  // Written for people: omits the declarations of names that their first use adds, and writes
  // `after` in place of `record` and `wait`. Can read back with other indices.
  kBrief,
};

/// Writes a scenario that read_scenario() turns into `graph` again, except for places. The same
/// graph gives the same text, in the order of the graph. Omits defaults and everything that a graph
/// lacks (parameters, expectations). Writes a pipeline schedule as the programs that it means.
///
/// Requires only that the indices in `graph` are in range. If a graph breaks a rule (see
/// models/layers/verifier.hpp), the text can read back as another graph, or not at all.
std::string write_scenario(const models::TaskGraph& graph,
                           ScenarioForm form = ScenarioForm::kExact);

}  // namespace pipesim::formats
