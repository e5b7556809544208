// How long the devices of ranks have nothing to run.
#pragma once

#include <cstdint>
#include <vector>

#include "models/explain/simulation.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::models {

/// A share of all, in millionths.
inline constexpr std::int64_t kWholeShare = 1'000'000;

/// For each rank how many ns of the time of the run an act works on at least one of its device
/// streams, as DeviceTimes has it. The run must have kept act times.
std::vector<std::int64_t> busy_ns(const TaskGraph& graph, const Simulation& run);

/// The part of `time_ns` that `ranks` ranks which were busy for `busy` ns in all were idle, in
/// millionths, rounded down. Of no time, 0.
std::int64_t idle_share(std::int64_t time_ns, std::int64_t busy, std::int64_t ranks = 1);

}  // namespace pipesim::models
