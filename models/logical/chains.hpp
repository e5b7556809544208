// Chains of tasks, which share memory, and what that asks of their order.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/graph/task_graph.hpp"

namespace pipesim::models {

/// What chains need to know of an actor.
struct ChainLink {
  bool may_chain = false;  // a NormalForward task on a device, all its registers with one slot
  std::uint32_t stage = 0;
  std::int64_t acts = 0;  // per step
};

/// Adds what OneFlow's chains add. `links` has one item for each actor; actors stand in topological
/// order.
///
/// A chain is a set of tasks that data joins, on one stream, that act equally often
/// (TaskGraph::MergeChain). Neighbours in it that data does not join get a control register `ctrl`.
/// With `memory_guard`, the first task of a chain that shares memory has a control register `guard`
/// of one slot to each sink: what reads the chain and feeds nothing else that does
/// (core/job/intra_job_mem_sharing_util.cpp). So the chain takes up the next micro-batch when the
/// sinks have taken this one.
void add_chain_order(TaskGraph& graph, const std::vector<ChainLink>& links, bool memory_guard);

/// Makes `reader` wait for the control register `name` of `producer`, which comes into being.
ReadTemplate& add_control(TaskGraph& graph, std::uint32_t producer, std::uint32_t reader,
                          const std::string& name);

}  // namespace pipesim::models
