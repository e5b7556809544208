// How much memory each rank of a run needs: what its runtime sets aside, and what is in use.
//
// A slot of a register is in use from the launch of the first act that fills it, which takes its
// credit, until all of its readers have sent their acknowledgements; what a reader hands on in
// place, until those of that. A register that nobody reads is in use while it is filled. What is
// given back at a moment can be taken again at that moment.
//
// Gathered weights of a schedule are in use from their kUnshard to their kReshard. Gathers run
// ahead of what is computed, but memory is taken in the order of the row, as PyTorch's allocator
// does it on the host: not before everything that is computed ahead of the kUnshard is done.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/graph/pipeline.hpp"
#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
#include "sim/engine.hpp"

namespace pipesim::models {

/// In bytes.
struct RankMemory {
  std::int64_t held = 0;      // all the time: TaskGraph::memory, and weights of a schedule
  std::int64_t reserved = 0;  // that, all slots, and ActivationMemory::most_bytes of a schedule
  std::int64_t peak = 0;      // the most that was in use at one moment, what is held among it
  std::int64_t peak_ns = 0;   // the first such moment

  friend constexpr bool operator==(const RankMemory&, const RankMemory&) = default;
};

using MemoryReport = std::vector<RankMemory>;  // by rank

/// True if anything in `graph` says how large it is.
bool has_sizes(const TaskGraph& graph);

/// True if anything but a pipeline schedule does.
bool has_sizes_beside_schedule(const TaskGraph& graph);

/// Nothing where `graph` has no sizes, or the times of acts were not kept
/// (RunOptions::keep_act_times). Of a run that hangs: up to where it stands.
std::optional<MemoryReport> memory_report(const TaskGraph& graph, const Lowered& lowered,
                                          const sim::Outcome& outcome);

/// What is in use from `time_ns` on, until the next step.
struct MemoryStep {
  std::int64_t time_ns = 0;
  std::int64_t used = 0;

  friend constexpr auto operator<=>(const MemoryStep&, const MemoryStep&) = default;
};

struct MemoryUse {
  bool in_bytes = false;  // else nothing says how large it is: slots and activations are counted
  std::vector<std::vector<MemoryStep>> ranks;  // one step per moment; the first at 0
  std::vector<std::int64_t> held;              // of that, all the time, by rank
};

/// What is in use over time, by rank. The run must have kept act times.
MemoryUse memory_over_time(const TaskGraph& graph, const Lowered& lowered,
                           const sim::Outcome& outcome);

/// What the activations and gathered weights of one rank of a schedule take, which follows from the
/// order of its row.
struct ActivationMemory {
  std::uint32_t most = 0;       // micro-batches of stages between forward and last gradient
  std::int64_t most_bytes = 0;  // at one moment, of both
};

ActivationMemory activation_memory(const Pipeline& pipeline, std::uint32_t rank);

/// Of the stages of a rank, in bytes.
std::int64_t weight_memory(const Pipeline& pipeline, std::uint32_t rank);

}  // namespace pipesim::models
