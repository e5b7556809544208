// Lazy loading of kernels (CUDA_MODULE_LOADING=LAZY): a process loads a kernel at its first launch.
// The load may wait for the whole device, while it holds the lock of the CUDA context.
//
// Sources: CUDA programming guide, "Lazy Loading", "Potential Hazards" (a load may wait for the
// device, and may deadlock); reports of the wait and of the lock: meta-pytorch/torchcomms#2334,
// NVIDIA/nvbench#136, kvcache-ai/Mooncake#1755, NVIDIA/TensorRT-LLM#16170.
#pragma once

#include <cstdint>
#include <optional>

#include "models/graph/task_graph.hpp"

namespace pipesim::models {

/// The launches that load a kernel.
enum class LoadsAt : std::uint8_t {
  kEachKernel,  // the first launch of each kernel on a rank
  kEachPhase,   // the first launch of each phase on a rank, or of the rank if it has no phases
};

/// Whether a program of `graph` has a step that loads a kernel, and loading is lazy.
bool has_loads(const TaskGraph& graph);

/// Returns `graph` with a load before each launch that `at` names and that no step loads already;
/// nullopt if no such launch exists. Kernels of a rank are the same kernel if their names differ
/// only in digits. The steps of a loop load in its first iteration.
std::optional<TaskGraph> with_loads(const TaskGraph& graph, LoadsAt at);

/// Makes each load hold the lock of its rank's CUDA context. Launches of the rank's other threads
/// wait for this lock. Does nothing on ranks with one thread.
void add_context_locks(TaskGraph& graph);

}  // namespace pipesim::models
