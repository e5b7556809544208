// Runs that hang, with all that tells why. Their sizes are numbers of stuck acts.
#pragma once

#include <cstdint>
#include <vector>

#include "models/explain/explanation.hpp"
#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
#include "sim/engine.hpp"
#include "sim/wait_graph.hpp"

namespace pipesim::bench {

/// A hang, as far as its wait-for graph.
struct HungRun {
  models::TaskGraph graph;
  models::Lowered lowered;
  sim::Outcome outcome;
  sim::WaitGraph waits;
};

/// A pipeline that hangs at its start with about so many acts stuck: 256 micro-batches of as many
/// stages as that takes. Most of them are launched and stand in streams; few are on the cycle.
HungRun hung_pipeline(std::uint32_t stuck);

/// A ring of so many actors on 8 ranks that all wait for each other: one cycle with all of them.
HungRun hung_ring(std::uint32_t stuck);

/// Why it hangs.
models::Explanation explained(const HungRun& run);

/// All of its waits as reports tell them.
std::vector<models::Wait> all_waits(const HungRun& run);

}  // namespace pipesim::bench
