// Names of the items that a plan only numbers.
#pragma once

#include <cstdint>
#include <string>

#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
#include "sim/ids.hpp"

namespace pipesim::models {

/// Returns the name of a rank's host. Without a cluster, all ranks share one host.
inline std::string host_name(const TaskGraph& graph, std::uint32_t rank) {
  return graph.cluster ? graph.cluster->host_name(graph.cluster->host_of_rank[rank]) : "node0";
}

/// A lookup of names in the task graph of a plan. Keeps references to `graph` and `lowered`.
class Names {
 public:
  Names(const TaskGraph& graph, const Lowered& lowered) : graph_(graph), lowered_(lowered) {}

  const ActorTemplate& actor(sim::ActorId id) const {
    return graph_.actors[lowered_.actor_template[id]];
  }

  const std::string& name(sim::ActorId id) const { return actor(id).name; }

  /// Returns the name of op `k`, from 0.
  OpName op(sim::ActorId id, std::uint32_t k) const { return op_name(actor(id), k); }

  /// Returns the name of an actor's stream or, for a host step, of its thread. An unnamed stream or
  /// thread has the name of its actor.
  const std::string& stream_of(sim::ActorId id) const {
    const sim::Actor& of = lowered_.plan.actors[id];
    return of.stream.valid() ? stream(of.stream) : thread(of.thread);
  }

  const std::string& stream(sim::StreamId id) const {
    const std::uint32_t index = lowered_.stream_template[id];
    return index == kNoIndex ? graph_.actors[lowered_.stream_owner[id]].name
                             : graph_.streams[index].name;
  }

  const std::string& thread(sim::ThreadId id) const {
    const std::uint32_t index = lowered_.thread_template[id];
    return index == kNoIndex ? graph_.actors[lowered_.thread_owner[id]].name
                             : graph_.threads[index].name;
  }

  const std::string& reg(sim::RegisterId id) const {
    const sim::ActorId producer = lowered_.plan.registers[id].producer;
    return actor(producer).registers[lowered_.register_template[id]].name;
  }

  /// Returns the micro-batch of op `k` (from 0), counted from 1; 0 if the actor has none.
  std::uint32_t micro_batch(sim::ActorId id, std::uint32_t k) const {
    const bool has =
        graph_.micro_batches > 0 && lowered_.plan.actors[id].ops == graph_.micro_batches;
    return has ? k + 1 : 0;
  }

 private:
  const TaskGraph& graph_;
  const Lowered& lowered_;
};

}  // namespace pipesim::models
