// The memory that each rank of a run needs: reserved by its runtime, and in use.
//
// A slot of a register is in use from the launch of the first op that fills the slot (the launch
// takes a credit) until all readers have acknowledged the slot. If a reader passes the data on in
// place, the slot is in use until the readers of that output have acknowledged. A register without
// readers is in use while an op fills the register. Memory returned at some time can be taken again
// at the same time.
//
// Gathered weights of a schedule are in use from their kUnshard to their kReshard. Gathers run
// ahead of computations, but the memory is taken in the order of the row, as PyTorch's allocator
// does on the host. A kUnshard takes memory only after all computations before it in the row are
// done.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/graph/pipeline.hpp"
#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
#include "sim/engine.hpp"

namespace pipesim::models {

/// The memory of a rank, in bytes.
struct RankMemory {
  std::int64_t held = 0;  // in use throughout the run: TaskGraph::memory and weights of a schedule
  std::int64_t reserved = 0;  // `held`, all slots, and ActivationMemory::most_bytes of a schedule
  std::int64_t peak = 0;      // maximum in use at any time, including `held`
  std::int64_t peak_ns = 0;   // first time at which the peak is reached

  friend constexpr bool operator==(const RankMemory&, const RankMemory&) = default;
};

using MemoryReport = std::vector<RankMemory>;  // by rank

/// Whether `graph` states any size.
bool has_sizes(const TaskGraph& graph);

/// Whether `graph` states any size outside a pipeline schedule.
bool has_sizes_beside_schedule(const TaskGraph& graph);

/// Returns the memory of each rank; for a hanging run, up to the hang. Returns nullopt if `graph`
/// has no sizes, or if the run did not keep the times of its ops (RunOptions::keep_op_times).
std::optional<MemoryReport> memory_report(const TaskGraph& graph, const Lowered& lowered,
                                          const sim::Outcome& outcome);

/// The memory in use from `time_ns` until the next step.
struct MemoryStep {
  std::int64_t time_ns = 0;
  std::int64_t used = 0;

  friend constexpr auto operator<=>(const MemoryStep&, const MemoryStep&) = default;
};

struct MemoryUse {
  bool in_bytes = false;  // whether sizes are known; else slots and activations are counted
  std::vector<std::vector<MemoryStep>> ranks;  // by rank: one step per time, the first at 0
  std::vector<std::int64_t> held;  // by rank: the part of `used` that is in use throughout the run
};

/// Returns the memory in use over time, by rank. The run must have kept the times of its ops.
MemoryUse memory_over_time(const TaskGraph& graph, const Lowered& lowered,
                           const sim::Outcome& outcome);

/// The memory for activations and gathered weights of one rank of a schedule, computed from the
/// order of its row.
struct ActivationMemory {
  // Maximum number of micro-batches (per stage) between forward and last gradient.
  std::uint32_t most = 0;
  std::int64_t most_bytes = 0;  // maximum of activations and gathered weights together
};

ActivationMemory activation_memory(const Pipeline& pipeline, std::uint32_t rank);

/// Returns the weights of the stages of a rank, in bytes.
std::int64_t weight_memory(const Pipeline& pipeline, std::uint32_t rank);

}  // namespace pipesim::models
