// Why a run of a program of sends, receives and calculations (sim/loggops/loggops.hpp) ended as it
// did, in the words of every other run.
#pragma once

#include <functional>
#include <string>

#include "models/explain/explanation.hpp"
#include "sim/loggops/loggops.hpp"
#include "sim/wait_graph.hpp"

namespace pipesim::models {

/// How an op is called, where it stands, and what stands there.
struct LogGopsOpName {
  std::string name;
  std::string at;
  std::string statement;
};

/// A run and what its ops are called. All must outlive it.
struct LogGopsResult {
  const sim::LogGopsProgram& program;
  const sim::LogGopsOutcome& outcome;
  const sim::WaitGraph& waits;  // empty unless the run is stuck
  std::function<LogGopsOpName(sim::ActorId)> name;
};

/// An op is an act on the stream of its cpu. A rank's only progress is that of its ops.
Explanation explain(const LogGopsResult& result);

Wait describe_wait(const LogGopsResult& result, const sim::WaitEdge& edge);

}  // namespace pipesim::models
