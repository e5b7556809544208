// Names that a scenario declares and that nothing in it mentions.
#pragma once

#include <string>
#include <vector>

#include "formats/yaml/settings.hpp"
#include "models/graph/task_graph.hpp"
#include "models/lint/lint.hpp"

namespace pipesim::formats {

/// Rule unused: parameters, groups, streams and blocks of `text`, which was read as `graph`, that
/// neither it nor a patch mentions outside of `about`.
std::vector<models::LintFinding> unused_names(const std::string& text,
                                              const std::vector<PatchText>& patches,
                                              const models::TaskGraph& graph);

}  // namespace pipesim::formats
