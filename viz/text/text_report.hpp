// The report of a run as text for people.
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
};

struct TextOptions {
  bool colour = false;  // ANSI codes
};

/// A numbered line for each of the waits; after the last, if it `closes` a circle, the first again.
std::string waits_text(const std::vector<models::Wait>& waits, bool closes,
                       const TextOptions& options);

/// Verdict, cycle edge by edge, roots, what to look at, each rank's progress, what else is stuck.
std::string text_report(const Report& report, const TextOptions& options);

/// Of that only what met and does not fit, and the cycle.
std::string hang_text(const Report& report, const TextOptions& options);

/// Of that only what is stuck beside the cycle, and all waits if there are any in the report.
std::string stuck_text(const Report& report, const TextOptions& options);

}  // namespace pipesim::viz
