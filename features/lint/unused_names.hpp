// Finds names that a scenario declares but never mentions.
#pragma once

#include <string>
#include <vector>

#include "formats/document/settings.hpp"
#include "models/graph/task_graph.hpp"

#include "features/lint/lint.hpp"

namespace pipesim::formats {

/// Checks the rule unused. Returns the parameters, groups, streams and blocks of `text` that
/// neither the scenario nor a patch mentions outside of `about`. `graph` is the graph read from
/// `text`.
std::vector<models::LintFinding> unused_names(const std::string& text,
                                              const std::vector<PatchText>& patches,
                                              const models::TaskGraph& graph);

}  // namespace pipesim::formats
