// The plans that are measured.
#pragma once

#include <cstdint>

#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
#include "sim/engine.hpp"
#include "sim/plan.hpp"

namespace pipesim::bench {

/// Where a pipeline comes to rest.
enum class Hang : std::uint8_t {
  kNone,
  kAtStart,  // messages share a stream per rank, and rank 0 wants the first gradient before it
             // sends
  kAtEnd,    // rank 0 wants the last gradient before it sends the last activation
};

/// 1F1B: forwards of 1 ms and backwards of 2 ms, messages that take no time. `stages` *
/// `micro_batches` * 2 acts compute, (`stages` - 1) * `micro_batches` * 4 send and receive, and
/// each rank synchronizes at the end. A hang takes two stages.
models::TaskGraph one_f_one_b(std::uint32_t stages, std::uint32_t micro_batches,
                              Hang hang = Hang::kNone);

/// `graph`, which has no mistakes, laid out on its ranks.
models::Lowered lowered(const models::TaskGraph& graph);

/// Its plan alone.
sim::Plan plan_of(const models::TaskGraph& graph);

/// `plan` with one tag for all its messages, where they have one each.
sim::Plan with_one_tag(sim::Plan plan);

/// Threads of order arrival: on each rank a chain of `length` actors on one stream each, from a
/// source with `acts` acts, through registers of two slots. Neighbours pass on what comes out.
sim::Plan actors(std::uint32_t ranks, std::uint32_t length, std::uint32_t acts);

/// The same chains, of which the first actor has a second output that nobody takes from: after half
/// of its acts it has no credits left, and all ranks hang.
sim::Plan stuck_actors(std::uint32_t ranks, std::uint32_t length, std::uint32_t acts);

/// The end of a run that hangs, event by event.
sim::Outcome hang_of(const sim::Plan& plan);

}  // namespace pipesim::bench
