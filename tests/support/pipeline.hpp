// Runs pipeline schedules in tests, and collects their results for comparison.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "models/result/pipeline_report.hpp"
#include "models/schedules/generators.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"

namespace pipesim::testing {

// The makespan of a run and, for each rank, its idle time and its maximum number of activations.
struct Found {
  std::int64_t makespan = 0;
  std::vector<std::int64_t> idle;
  std::vector<std::int64_t> peaks;

  friend bool operator==(const Found&, const Found&) = default;
};

inline std::ostream& operator<<(std::ostream& out, const Found& found) {
  out << found.makespan << " idle";
  for (const std::int64_t idle : found.idle) out << ' ' << idle;
  out << " peaks";
  for (const std::int64_t peak : found.peaks) out << ' ' << peak;
  return out;
}

// Returns a scenario with a schedule of this shape and sends that take no time. `costs` are the
// times in nanoseconds of a forward, an input gradient, a weight gradient and, if there are four,
// an overlapped forward and backward.
inline std::string scenario_of_shape(const models::ScheduleShape& shape,
                                     const std::vector<std::int64_t>& costs) {
  const std::vector<const char*> keys = {"forward", "input_grad", "weight_grad", "overlapped"};
  std::string text = "schema: 1\nschedule:\n  kind: ";
  text += models::schedule_kind_name(shape.kind);
  text += "\n  stages: " + std::to_string(shape.stages);
  text += "\n  chunks: " + std::to_string(shape.chunks);
  text += "\n  micro_batches: " + std::to_string(shape.micro_batches);
  text += "\n  messages: dir";
  for (std::size_t i = 0; i < costs.size(); ++i) {
    text += std::string("\n  ") + keys[i] + ": " + std::to_string(costs[i]) + "ns";
  }
  return text + "\n";
}

inline models::PipelineReport report_of(const std::string& text, const Settings& settings = {}) {
  const formats::Scenario scenario = scenario_of(text, settings);
  const models::Simulation run = simulate(scenario.graph, {.keep_op_times = true});
  const auto report = models::pipeline_report(scenario.graph, run.lowered, run.outcome);
  REQUIRE(report.has_value());
  CHECK(run.explanation.verdict == sim::Verdict::kCompleted);
  return *report;
}

inline Found found(const std::string& text, const Settings& settings = {}) {
  const models::PipelineReport report = report_of(text, settings);
  Found result;
  result.makespan = report.makespan_ns;
  for (const models::PipelineRank& rank : report.ranks) {
    CHECK(rank.busy_ns + rank.idle.all() == report.makespan_ns);
    result.idle.push_back(rank.idle.all());
    result.peaks.push_back(rank.peak_activations);
  }
  return result;
}

/// Returns the longest idle time of a rank between its own first and last action.
inline std::int64_t most_inside(const models::PipelineReport& report) {
  std::int64_t most = 0;
  for (const models::PipelineRank& rank : report.ranks) most = std::max(most, rank.idle.inside());
  return most;
}

/// Returns the longest idle time of a rank in the whole step.
inline std::int64_t most_idle(const models::PipelineReport& report) {
  std::int64_t most = 0;
  for (const models::PipelineRank& rank : report.ranks) most = std::max(most, rank.idle.all());
  return most;
}

}  // namespace pipesim::testing
