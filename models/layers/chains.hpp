// Chains of tasks, which share memory, and the order that sharing requires.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/graph/task_graph.hpp"

namespace pipesim::models {

/// The properties of an actor that decide its chain.
struct ChainLink {
  // Whether the actor is a NormalForward task on a device, and all its registers have one slot.
  bool may_chain = false;
  std::uint32_t stage = 0;
  std::int64_t ops = 0;  // ops per step
};

/// Adds the control registers of OneFlow's chains. `links` has one item per actor; actors are in
/// topological order.
///
/// A chain is a set of tasks on one stream that data connects and that run equally often
/// (TaskGraph::MergeChain). Neighbors in a chain without data between them get a control register
/// `ctrl-NAME`, with the name of the second one. With `memory_guard`, the first task of a chain
/// with shared memory gets a control register `guard` of one slot to each sink. A sink reads the
/// chain and feeds no other reader of the chain (core/job/intra_job_mem_sharing_util.cpp). So the
/// chain starts the next micro-batch once the sinks have taken the current one.
void add_chain_order(TaskGraph& graph, const std::vector<ChainLink>& links, bool memory_guard);

/// Adds the control register `name` to `producer`, and makes `reader` wait for it.
ReadTemplate& add_control(TaskGraph& graph, std::uint32_t producer, std::uint32_t reader,
                          const std::string& name);

}  // namespace pipesim::models
