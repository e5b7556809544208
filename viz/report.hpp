// What the views of a run are made from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/explain/explanation.hpp"
#include "models/explain/remedies.hpp"
#include "models/graph/task_graph.hpp"
#include "models/measure/memory.hpp"
#include "models/measure/pipeline_report.hpp"
#include "sim/jitter.hpp"
#include "viz/styled.hpp"

namespace pipesim::viz {

/// What a report is made from. The text, the JSON and the pictures show the same.
struct Report {
  const models::TaskGraph& graph;
  const models::Explanation& explanation;
  std::vector<models::Misplacement> misplacements;
  std::vector<models::Remedy> remedies;
  std::vector<models::Wait> all_waits;  // the whole wait-for graph; only where asked for
  std::optional<models::PipelineReport> pipeline;
  std::optional<models::MemoryReport> memory;
  sim::Jitter jitter{};  // that the run was made with
  // Beside Explanation::ranks: the ranks for which each stands; none: for itself.
  std::vector<models::RankSet> alike{};
  std::string made_by{};  // "pipesim 0.1: pipesim run a.yaml --set acc=2", for pages; may be empty
};

}  // namespace pipesim::viz
