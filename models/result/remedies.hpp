// Single changes that let a hanging run complete; every reported change was tried.
//
// Candidates come from the edges of the cycle. An op that is queued behind another op moves to the
// stream of its readers. A register that runs out of credits gets more slots.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/graph/task_graph.hpp"
#include "models/result/explanation.hpp"
#include "models/result/simulation.hpp"

namespace pipesim::models {

/// A change to the task graph after which the run completed, with the same timing.
struct Remedy {
  enum class Kind : std::uint8_t { kStream, kSlots };
  Kind kind = Kind::kStream;
  std::string op;
  std::string from_stream;  // kStream: stream before the change
  std::string to_stream;
  std::string reg;  // kSlots: name of the register
  std::int64_t slots_before = 0;
  std::int64_t slots = 0;  // the smallest number found to work
};

/// The maximum number of ops that find_remedies() simulates; further candidates are skipped.
inline constexpr std::uint64_t kMaxRemedyOps = 2'000'000;

/// An op on the cycle that waits in stream order although all its readers run on another stream: a
/// likely cause.
struct Misplacement {
  OpInfo op;
  OpInfo behind;
  std::string feeds_stream;
};

/// Returns the misplacements on the cycle of `hang`, a run of `graph`, in the order of the cycle.
std::vector<Misplacement> find_misplacements(const TaskGraph& graph, const Simulation& hang);

/// Returns the changes that let `hang`, a run of `graph`, complete with the same timing, in the
/// order of the cycle.
std::vector<Remedy> find_remedies(const TaskGraph& graph, const Simulation& hang,
                                  std::uint64_t max_ops = kMaxRemedyOps);

}  // namespace pipesim::models
