// The difference between two runs: their ends and, if both can be simulated, the moved ops.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/graph/task_graph.hpp"
#include "models/result/explanation.hpp"
#include "models/result/simulation.hpp"
#include "sim/engine.hpp"

namespace pipesim::models {

/// The number of ops that an actor completed, and the number that it should complete.
struct OpCount {
  std::uint32_t rank = 0;
  std::string op;
  std::uint32_t done = 0;
  std::uint32_t expected = 0;

  friend bool operator==(const OpCount&, const OpCount&) = default;
};

/// The end of a run, limited to the data that a JSON report also contains.
struct RunEndFigures {
  std::string verdict;
  std::string cause;
  std::int64_t time_ns = 0;
  std::uint64_t fingerprint = 0;
  std::uint64_t ops_done = 0;
  std::uint64_t ops_expected = 0;
  std::vector<std::string> cycle;  // ops such as "rank 1 nccl-1998#3", in order
  std::vector<std::string> roots;  // names such as "rank 3", "the outside"
  std::vector<OpCount> counts;     // sorted by rank, then in the order of the file

  friend bool operator==(const RunEndFigures&, const RunEndFigures&) = default;
};

RunEndFigures end_figures(const Explanation& explanation);

/// A run with RunOptions::keep_op_times and keep_log, and its task graph.
struct TimedRun {
  const TaskGraph& graph;
  const Simulation& simulation;
};

/// An op that both runs have, and its times in both runs.
struct MovedOp {
  std::uint32_t rank = 0;
  std::string name;
  std::uint32_t number = 0;  // number of the execution, from 1
  sim::OpTimes before;
  sim::OpTimes after;
};

/// A change in the duration of an op, over all ranks and all executions that both runs ended. On a
/// stream, the duration is from start to end, including the wait of a call for its peers. On the
/// host, the duration is from entry to end.
struct PaceChange {
  std::string op;
  std::uint64_t ops = 0;
  std::int64_t before_ns = 0;  // total duration, ns
  std::int64_t after_ns = 0;
  MovedOp largest;  // the execution with the largest change
  std::int64_t largest_ns = 0;
};

/// The first position at which a stream (for host steps, a thread) runs different ops in the two
/// runs. Only ops that both runs have are counted.
struct OrderChange {
  std::uint32_t rank = 0;
  std::string stream;
  std::uint64_t position = 0;  // from 1, among the common ops
  std::string before;          // such as "a#1"
  std::string after;
};

struct RunDifference {
  std::uint64_t ops_in_both = 0;
  std::uint64_t ops_moved = 0;   // ops with a different launch, start or end
  std::optional<MovedOp> first;  // op with the earliest difference
  std::int64_t first_ns = 0;     // time of the earliest difference
  std::vector<PaceChange> pace;  // largest change first
  std::vector<OrderChange> orders;

  bool empty() const { return ops_moved == 0 && pace.empty() && orders.empty(); }
};

/// Compares two runs op by op. Ops correspond if rank, name and number are equal.
RunDifference compare_runs(const TimedRun& before, const TimedRun& after);

}  // namespace pipesim::models
