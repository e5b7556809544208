// Idle times of the devices of ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "models/graph/task_graph.hpp"
#include "models/result/device_times.hpp"
#include "models/result/simulation.hpp"

namespace pipesim::models {

/// Returns the length of the union of `intervals`, and sorts them.
std::int64_t covered_ns(std::vector<Interval>& intervals);

/// The share of 100%, in millionths.
inline constexpr std::int64_t kWholeShare = 1'000'000;

/// Returns the busy time of each rank in ns: the time in which an op works on at least one of the
/// rank's device streams, see DeviceTimes. The run must have kept the times of its ops.
std::vector<std::int64_t> busy_ns(const TaskGraph& graph, const Simulation& run);

/// Returns the idle share of `ranks` ranks in millionths, rounded down. Each rank runs for
/// `time_ns`; `busy` is their total busy time in ns. Returns 0 if `time_ns` is 0.
std::int64_t idle_share(std::int64_t time_ns, std::int64_t busy, std::int64_t ranks = 1);

}  // namespace pipesim::models
