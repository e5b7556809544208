// The plans that are measured.
#pragma once

#include <cstdint>

#include "models/task_graph.hpp"
#include "sim/plan.hpp"

namespace pipesim::bench {

/// 1F1B: forwards of 1 ms and backwards of 2 ms, messages that take no time. `stages` *
/// `micro_batches` * 2 acts compute, (`stages` - 1) * `micro_batches` * 4 send and receive, and
/// each rank synchronizes at the end.
models::TaskGraph one_f_one_b(std::uint32_t stages, std::uint32_t micro_batches);

/// The plan of a graph that has no mistakes.
sim::Plan plan_of(const models::TaskGraph& graph);

/// `plan` with one tag for all its messages, where they have one each.
sim::Plan with_one_tag(sim::Plan plan);

/// Threads of order arrival: on each rank a chain of `length` actors on one stream each, from a
/// source with `acts` acts, through registers of two slots. Neighbours pass on what comes out.
sim::Plan actors(std::uint32_t ranks, std::uint32_t length, std::uint32_t acts);

/// The same chains, of which the last actor of the first rank never gives back: all ranks hang.
sim::Plan stuck_actors(std::uint32_t ranks, std::uint32_t length, std::uint32_t acts);

}  // namespace pipesim::bench
