// What differs between two runs: how they ended and, where both can be simulated, what moved.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/explain/explanation.hpp"
#include "models/explain/simulation.hpp"
#include "models/graph/task_graph.hpp"
#include "sim/engine.hpp"

namespace pipesim::models {

/// How many acts an actor did.
struct ActCount {
  std::uint32_t rank = 0;
  std::string op;
  std::uint32_t done = 0;
  std::uint32_t expected = 0;

  friend bool operator==(const ActCount&, const ActCount&) = default;
};

/// The end of a run as far as a JSON report tells it, too.
struct RunEndFigures {
  std::string verdict;
  std::string cause;
  std::int64_t time_ns = 0;
  std::uint64_t fingerprint = 0;
  std::uint64_t acts_done = 0;
  std::uint64_t acts_expected = 0;
  std::vector<std::string> cycle;  // "rank 1 nccl-1998#3", in order
  std::vector<std::string> roots;  // "rank 3", "the outside"
  std::vector<ActCount> counts;    // rank by rank, in the order of the file

  friend bool operator==(const RunEndFigures&, const RunEndFigures&) = default;
};

RunEndFigures end_figures(const Explanation& explanation);

/// A run that was made with RunOptions::keep_act_times and keep_log, and its task graph.
struct TimedRun {
  const TaskGraph& graph;
  const Simulation& simulation;
};

/// An act that both runs have, and when.
struct MovedAct {
  std::uint32_t rank = 0;
  std::string op;
  std::uint32_t act = 0;  // from 1
  sim::ActTimes before;
  sim::ActTimes after;
};

/// An op, over all ranks, that takes longer or less long; counted are acts that both runs have
/// ended. On a stream that is from start to end (of a call with what it waits for its peers), on
/// the host from entry to end.
struct PaceChange {
  std::string op;
  std::uint64_t acts = 0;
  std::int64_t before_ns = 0;  // all of them together
  std::int64_t after_ns = 0;
  MovedAct largest;  // the act that changed most
  std::int64_t largest_ns = 0;
};

/// The first place where a stream (or, for steps of the host, a thread) does acts that both runs
/// have in another order.
struct OrderChange {
  std::uint32_t rank = 0;
  std::string stream;
  std::uint64_t position = 0;  // from 1, among those acts
  std::string before;          // "a#1"
  std::string after;
};

struct RunDifference {
  std::uint64_t acts_in_both = 0;
  std::uint64_t acts_moved = 0;   // with another time of launch, start or end
  std::optional<MovedAct> first;  // the one that differs at the earliest moment
  std::int64_t first_ns = 0;      // that moment
  std::vector<PaceChange> pace;   // the largest change first
  std::vector<OrderChange> orders;

  bool empty() const { return acts_moved == 0 && pace.empty() && orders.empty(); }
};

/// Compares act by act: acts are the same where rank, name and number are.
RunDifference compare_runs(const TimedRun& before, const TimedRun& after);

}  // namespace pipesim::models
