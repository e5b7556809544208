// A hanging job made smaller while its hang stays the same: for a bug report, and to see what it
// takes to hang. docs/how-to/reduce.md says what is tried.
//
// The way is delta debugging (A. Zeller, R. Hildebrandt: Simplifying and Isolating Failure-Inducing
// Input, IEEE TSE 28(2), 2002): parts are taken out, halves first, then ever fewer at a time, and
// stay out if the job hangs as before (models/explain/hang_signature.hpp). What is left is minimal
// in that no part that was looked at can go alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/explain/explanation.hpp"
#include "models/explain/hang_signature.hpp"
#include "models/graph/diagnostics.hpp"
#include "models/graph/task_graph.hpp"
#include "models/search/fix.hpp"

namespace pipesim::models {

/// Parameters and the values that they get.
using ParameterValues = std::vector<std::pair<std::string, std::string>>;

/// The task graph with these parameters, or nothing where it has mistakes then.
using GraphOf = std::function<std::optional<TaskGraph>(const ParameterValues&)>;

/// A scenario, and what is read of it.
struct Written {
  std::string text;
  TaskGraph graph;
};

/// What becomes of a task graph that is written as a scenario, briefly or not, and read again;
/// nothing where it cannot.
using ReadBack = std::function<std::optional<Written>(const TaskGraph&, bool brief)>;

struct ReduceOptions {
  std::uint64_t most_acts = 200'000'000;  // of all runs together: what is left is not tried
  const std::atomic<bool>* stop = nullptr;
  std::atomic<std::uint64_t>* runs = nullptr;  // counted as they are tried
};

/// How large a job is.
struct JobSize {
  std::uint64_t ranks = 0;   // that have something to do
  std::uint64_t actors = 0;  // also steps of host programs, each once for all of its ranks
  std::uint64_t acts = 0;

  friend bool operator==(const JobSize&, const JobSize&) = default;
};

struct Reduction {
  JobSize before;
  JobSize after;
  HangSignature hang;
  ParameterValues parameters;     // that were made smaller
  std::string text;               // the small job, as a scenario
  TaskGraph graph;                // as it reads from it
  Layers layers = Layers::kEach;  // kOnce: what differs in numbers was taken for the same
  Explanation explanation;        // how it ends
  std::uint32_t runs = 0;         // that were tried
  bool stopped = false;           // by ReduceOptions::stop: not all was tried
  bool out_of_budget = false;     // by ReduceOptions::most_acts
};

/// Makes the job `graph` smaller. Nothing, with errors, where it cannot be run, does not hang, or
/// cannot be written as a scenario that hangs alike. Of an interrupted search what it had reached.
std::optional<Reduction> reduce(TaskGraph graph, const std::vector<Switch>& parameters,
                                const GraphOf& graph_of, const ReadBack& read_back,
                                const ReduceOptions& options, Diagnostics& diagnostics);

}  // namespace pipesim::models
