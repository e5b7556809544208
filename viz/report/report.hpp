// The input of all views of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/graph/task_graph.hpp"
#include "models/result/explanation.hpp"
#include "models/result/memory.hpp"
#include "models/result/pipeline_report.hpp"
#include "models/result/remedies.hpp"
#include "sim/jitter.hpp"
#include "viz/report/styled.hpp"

namespace pipesim::viz {

/// Lines of the user's program around a line that matters for the end of the run.
struct SourceExcerpt {
  std::string title;                 // the place: "train.py:20 step > backward"
  std::vector<std::uint32_t> ranks;  // ranks that are at this place
  std::string text;                  // numbered lines, with ">" before the line itself
};

/// Contents of a report. The text, the JSON and the pictures show the same report.
struct Report {
  const models::TaskGraph& graph;
  const models::Explanation& explanation;
  std::vector<models::Misplacement> misplacements;
  std::vector<models::Remedy> remedies;
  std::vector<models::Wait> all_waits;  // the whole wait-for graph; only on request
  std::optional<models::PipelineReport> pipeline;
  std::optional<models::MemoryReport> memory;
  sim::Jitter jitter{};  // random variation of durations in this run
  // For each entry of Explanation::ranks, the ranks that it represents; empty: each entry
  // represents only its own rank.
  std::vector<models::RankSet> alike{};
  // Version and command, for pages; may be empty: "pipesim 0.1: pipesim run a.yaml --set acc=2".
  std::string made_by{};
  // Words that name the job for other commands, such as "a.yaml", "--set", "acc=2"; empty: no file.
  std::vector<std::string> job{};
  std::vector<SourceExcerpt> sources{};  // for pages; only of a hang of a recorded script
};

}  // namespace pipesim::viz
