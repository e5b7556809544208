// Explains runs of programs of sends, receives and calculations (features/goal/loggops.hpp), in the
// form of the explanations of all other runs.
#pragma once

#include <functional>
#include <string>

#include "models/result/explanation.hpp"
#include "sim/wait_graph.hpp"

#include "features/goal/loggops.hpp"

namespace pipesim::models {

/// The name of an op, its line and its source text.
struct LogGopsOpName {
  std::string name;
  std::string at;
  std::string statement;
};

/// A run with the names of its ops. The referenced objects must outlive the result.
struct LogGopsResult {
  const sim::LogGopsProgram& program;
  const sim::LogGopsOutcome& outcome;
  const sim::WaitGraph& waits;  // empty unless the run is stuck
  std::function<LogGopsOpName(sim::ActorId)> name;
};

/// Explains a run. The stream of an op is its cpu. Each rank reports one progress value, for all
/// its ops.
Explanation explain(const LogGopsResult& result);

Wait describe_wait(const LogGopsResult& result, const sim::WaitEdge& edge);

}  // namespace pipesim::models
