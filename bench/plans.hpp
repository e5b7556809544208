// The plans that the benchmarks run.
#pragma once

#include <cstdint>

#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
#include "sim/engine.hpp"
#include "sim/plan.hpp"

namespace pipesim::bench {

/// The point at which a pipeline hangs.
enum class Hang : std::uint8_t {
  kNone,
  // Sends and recvs share one stream per rank, and rank 0 receives the first gradient before it
  // sends.
  kAtStart,
  kAtEnd,  // rank 0 receives the last gradient before it sends the last activation
};

/// Returns a 1F1B schedule: forwards of 1 ms, backwards of 2 ms, sends and recvs without duration.
/// It has `stages` * `micro_batches` * 2 compute ops and (`stages` - 1) * `micro_batches` * 4 sends
/// and recvs; each rank synchronizes at the end. A hang needs at least two stages.
models::TaskGraph one_f_one_b(std::uint32_t stages, std::uint32_t micro_batches,
                              Hang hang = Hang::kNone);

/// Lowers `graph`, which must have no mistakes.
models::Lowered lowered(const models::TaskGraph& graph);

/// Returns only the plan of the lowered graph.
sim::Plan plan_of(const models::TaskGraph& graph);

/// Returns `plan` with the same tag for all sends and recvs instead of their own tags.
sim::Plan with_one_tag(sim::Plan plan);

/// Returns a plan with threads of order arrival. Each rank has a chain of `length` actors from a
/// source with `ops` ops, connected by registers of two slots. The last actor of each rank feeds
/// the first one of the next rank.
sim::Plan actors(std::uint32_t ranks, std::uint32_t length, std::uint32_t ops);

/// Returns the chains of actors() with a second output on rank 0's first actor. The reader of this
/// output never runs, so the actor has no credits left after half of its ops, and all ranks hang.
sim::Plan stuck_actors(std::uint32_t ranks, std::uint32_t length, std::uint32_t ops);

/// Runs a plan that hangs, event by event.
sim::Outcome hang_of(const sim::Plan& plan);

}  // namespace pipesim::bench
