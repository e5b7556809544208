// Task graphs as scenarios: the other direction of formats/scenario/scenario.hpp.
#pragma once

#include <cstdint>
#include <string>

#include "models/graph/task_graph.hpp"

namespace pipesim::formats {

/// How a scenario is written.
enum class ScenarioForm : std::uint8_t {
  kExact,  // so that the same graph is read
  kBrief,  // as people write it: what comes into being where it is first named is not declared,
           // `after` stands for the two steps that it is. What is read may number things otherwise
};

/// The scenario that read_scenario() makes `graph` of again, places excepted: the same text for the
/// same graph, in the order of the graph. What a graph does not have (parameters, expectations) is
/// not in it; what it leaves to defaults is not said. A pipeline schedule is written as the
/// programs that it stands for.
///
/// The indices in `graph` must be in range. Nothing else is asked of it: where a graph breaks a
/// rule (see models/passes/verifier.hpp), the text may read as another one, or not at all.
std::string write_scenario(const models::TaskGraph& graph,
                           ScenarioForm form = ScenarioForm::kExact);

}  // namespace pipesim::formats
