// Single changes that let a hanging run complete: each is tried before it is told.
//
// Candidates come from the edges of the cycle: an act that stands in a stream behind another moves
// to the stream of those it feeds, and a register whose credits are waited for gets more of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/explain/explanation.hpp"
#include "models/explain/simulation.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::models {

/// A change to the task graph after which the run completed, in this timing.
struct Remedy {
  enum class Kind : std::uint8_t { kStream, kSlots };
  Kind kind = Kind::kStream;
  std::string op;
  std::string from_stream;  // kStream
  std::string to_stream;
  std::string reg;  // kSlots
  std::int64_t slots_before = 0;
  std::int64_t slots = 0;  // the fewest that were found to be enough
};

/// How much simulating find_remedies may do: candidates are left out beyond it.
inline constexpr std::uint64_t kMaxRemedyActs = 2'000'000;

/// An op that the cycle passes through in the order of a stream, while all that it feeds runs on
/// another: what to look at first.
struct Misplacement {
  ActInfo act;
  ActInfo behind;
  std::string feeds_stream;
};

/// Those of the cycle of `hang`, a run of `graph`, in its order.
std::vector<Misplacement> find_misplacements(const TaskGraph& graph, const Simulation& hang);

/// Those of the candidates that let `hang`, a run of `graph`, complete in its timing, in the order
/// of the cycle.
std::vector<Remedy> find_remedies(const TaskGraph& graph, const Simulation& hang,
                                  std::uint64_t most_acts = kMaxRemedyActs);

}  // namespace pipesim::models
