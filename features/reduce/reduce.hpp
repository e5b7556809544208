// Reduces a hanging job to a smaller one with the same hang, for bug reports and to understand the
// hang. docs/how-to/reduce.md lists the steps.
//
// The method is delta debugging (A. Zeller, R. Hildebrandt: Simplifying and Isolating
// Failure-Inducing Input, IEEE TSE 28(2), 2002). reduce removes half of the parts at a time, then
// ever fewer. It keeps a removal if the job still hangs in the same way
// (models/result/hang_signature.hpp). The result is minimal: no examined part can be removed alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "formats/document/expression.hpp"
#include "models/graph/diagnostics.hpp"
#include "models/graph/task_graph.hpp"
#include "models/result/explanation.hpp"
#include "models/result/hang_signature.hpp"

namespace pipesim::models {

/// Names and values of parameters.
using ParameterValues = std::vector<std::pair<std::string, std::string>>;

/// Returns the task graph with the given parameter values; nullopt if the graph has errors.
using GraphOf = std::function<std::optional<TaskGraph>(const ParameterValues&)>;

/// A scenario as text, and its task graph.
struct Written {
  std::string text;
  TaskGraph graph;
};

/// Writes a task graph as a scenario, in the brief form if `brief` is set, and reads the scenario
/// back. Returns nullopt if the graph cannot be written.
using ReadBack = std::function<std::optional<Written>(const TaskGraph&, bool brief)>;

struct ReduceOptions {
  std::uint64_t max_ops = 200'000'000;  // limit on the ops of all runs together
  const std::atomic<bool>* stop = nullptr;
  // number of runs so far, updated during the reduction
  std::atomic<std::uint64_t>* runs = nullptr;
};

/// The size of a job.
struct JobSize {
  std::uint64_t ranks = 0;  // number of ranks with work to do
  // Number of actors and steps of host programs. Each counts once for all its ranks.
  std::uint64_t actors = 0;
  std::uint64_t ops = 0;

  friend bool operator==(const JobSize&, const JobSize&) = default;
};

struct Reduction {
  JobSize before;
  JobSize after;
  HangSignature hang;
  ParameterValues parameters;     // reduced parameters
  std::string text;               // the reduced job, as a scenario
  TaskGraph graph;                // the reduced job, as read back from `text`
  Layers layers = Layers::kEach;  // kOnce: waits that differ only in numbers count as equal
  Explanation explanation;        // the end of the reduced job
  std::uint32_t runs = 0;         // number of runs of the reduction
  bool stopped = false;           // whether ReduceOptions::stop cut the search short
  bool out_of_budget = false;     // whether ReduceOptions::max_ops cut the search short
};

/// Reduces the job `graph`. Returns nullopt, with errors, if the job cannot be run, does not hang,
/// or cannot be written as a scenario with the same hang. After an interruption, returns the best
/// result so far.
std::optional<Reduction> reduce(TaskGraph graph, const std::vector<formats::Parameter>& parameters,
                                const GraphOf& graph_of, const ReadBack& read_back,
                                const ReduceOptions& options, Diagnostics& diagnostics);

}  // namespace pipesim::models
