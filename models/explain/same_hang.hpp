// What makes two hangs the same, though one of them is of a smaller job.
#pragma once

#include <set>
#include <string>

#include "models/explain/explanation.hpp"
#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"

namespace pipesim::models {

/// A hang without ranks, streams, micro-batches and numbers of acts: verdict and cause, and each
/// kind of wait that decides it once. With a cycle these are its waits, told by their kind and the
/// ops at their ends; else what waits first for each root, the calls that do not fit, the deaths
/// and device errors.
struct HangShape {
  sim::Verdict verdict = sim::Verdict::kCompleted;
  Cause cause = Cause::kNone;
  std::set<std::string> waits;

  bool hangs() const {
    return verdict == sim::Verdict::kDeadlock || verdict == sim::Verdict::kStarved ||
           verdict == sim::Verdict::kMismatch;
  }

  friend bool operator==(const HangShape&, const HangShape&) = default;
};

/// The shape of the end of a run of `lowered`, made from `graph`.
HangShape hang_shape(const TaskGraph& graph, const Lowered& lowered,
                     const Explanation& explanation);

}  // namespace pipesim::models
