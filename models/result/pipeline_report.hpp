// The costs of a pipeline schedule per rank: idle time by cause, and memory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
#include "models/lowering/rank_folding.hpp"
#include "sim/engine.hpp"

namespace pipesim::models {

/// The time in which a rank computed nothing, by cause.
struct IdleTime {
  std::int64_t start_ns = 0;     // before the rank's first action
  std::int64_t input_ns = 0;     // the previous stage had not computed the forward yet
  std::int64_t gradient_ns = 0;  // the next stage had not computed the gradient yet
  std::int64_t message_ns = 0;   // the work was launched, but its input had not arrived
  std::int64_t host_ns = 0;  // the input was computed, but the host had not launched the work yet
  std::int64_t finished_ns = 0;  // this rank had no work left, but other ranks had

  /// Returns the idle time between the rank's first and last action.
  std::int64_t inside() const { return input_ns + gradient_ns + message_ns + host_ns; }

  std::int64_t all() const { return start_ns + inside() + finished_ns; }

  friend bool operator==(const IdleTime&, const IdleTime&) = default;
};

struct PipelineRank {
  std::int64_t busy_ns = 0;
  IdleTime idle;
  // Maximum number of micro-batches (per stage) between forward and last gradient.
  std::uint32_t peak_activations = 0;
  std::int64_t peak_bytes = 0;  // activations and weights

  friend bool operator==(const PipelineRank&, const PipelineRank&) = default;
};

struct PipelineReport {
  std::int64_t makespan_ns = 0;
  std::vector<PipelineRank> ranks;
  bool has_memory = false;

  friend bool operator==(const PipelineReport&, const PipelineReport&) = default;
};

/// Returns the actors for which the report needs only the end of the last op, for
/// sim::RunOptions::last_times_of: all actors that do not compute.
std::vector<sim::ActorId> actors_without_compute(const Pipeline& pipeline, const Lowered& lowered);

/// Returns the costs of a completed run. Returns nullopt if `graph` has no pipeline, the run did
/// not complete, or the run did not keep the times of its ops (RunOptions::keep_op_times). With
/// `folding`, reports all ranks from a run of the kept ranks.
std::optional<PipelineReport> pipeline_report(const TaskGraph& graph, const Lowered& lowered,
                                              const sim::Outcome& outcome,
                                              const RankFolding* folding = nullptr);

}  // namespace pipesim::models
