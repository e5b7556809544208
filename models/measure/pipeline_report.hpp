// What a run of a pipeline schedule cost each rank: time without work and why, memory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
#include "models/lowering/rank_folding.hpp"
#include "sim/engine.hpp"

namespace pipesim::models {

/// Time in which a rank computed nothing, by what it waited for.
struct IdleTime {
  std::int64_t start_ns = 0;     // before its first action
  std::int64_t input_ns = 0;     // the stage before had not computed the forward yet
  std::int64_t gradient_ns = 0;  // the stage behind had not computed the gradient yet
  std::int64_t message_ns = 0;   // it had, but the message was not there
  std::int64_t host_ns = 0;  // the message was there, but the host had not launched the work yet
  std::int64_t finished_ns = 0;  // this rank had no work left, others had

  /// From its own first action to its own last.
  std::int64_t inside() const { return input_ns + gradient_ns + message_ns + host_ns; }

  std::int64_t all() const { return start_ns + inside() + finished_ns; }

  friend bool operator==(const IdleTime&, const IdleTime&) = default;
};

struct PipelineRank {
  std::int64_t busy_ns = 0;
  IdleTime idle;
  std::uint32_t peak_activations = 0;  // micro-batches of stages between forward and last gradient
  std::int64_t peak_bytes = 0;         // these, and the weights

  friend bool operator==(const PipelineRank&, const PipelineRank&) = default;
};

struct PipelineReport {
  std::int64_t makespan_ns = 0;
  std::vector<PipelineRank> ranks;
  bool has_memory = false;

  friend bool operator==(const PipelineReport&, const PipelineReport&) = default;
};

/// The actors of which the report needs only when their last act ended, for
/// sim::RunOptions::last_times_of: all but those that compute.
std::vector<sim::ActorId> actors_without_compute(const Pipeline& pipeline, const Lowered& lowered);

/// Nothing where `graph` has no pipeline, the run is not completed, or the times of acts were not
/// kept (RunOptions::keep_act_times). With `folding`, of all ranks from a run of those that are
/// kept.
std::optional<PipelineReport> pipeline_report(const TaskGraph& graph, const Lowered& lowered,
                                              const sim::Outcome& outcome,
                                              const RankFolding* folding = nullptr);

}  // namespace pipesim::models
