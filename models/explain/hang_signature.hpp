// What makes two hangs the same: in all detail, though one may be of a smaller job; in a phrase for
// people; by the ranks that are to blame.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "models/explain/explanation.hpp"
#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"

namespace pipesim::models {

/// A hang without ranks, streams, micro-batches and numbers of acts: verdict and cause, and each
/// kind of wait that decides it once. With a cycle these are its waits, told by their kind and the
/// ops at their ends; else what waits first for each root, the calls that do not fit and in what,
/// the deaths and device errors.
struct HangSignature {
  sim::Verdict verdict = sim::Verdict::kCompleted;
  Cause cause = Cause::kNone;
  std::set<std::string> waits;

  bool hangs() const {
    return verdict == sim::Verdict::kDeadlock || verdict == sim::Verdict::kStarved ||
           verdict == sim::Verdict::kMismatch;
  }

  friend bool operator==(const HangSignature&, const HangSignature&) = default;
};

/// Whether names that differ in numbers alone ("block4-mlp", "block5-mlp") are different ops to a
/// signature, or those of equal layers.
enum class Layers : std::uint8_t { kEach, kOnce };

/// The signature of the end of a run of `lowered`, made from `graph`.
HangSignature hang_signature(const TaskGraph& graph, const Lowered& lowered,
                             const Explanation& explanation, Layers layers = Layers::kEach);

/// Why a run did not complete, short and without ranks and acts, so that runs that hang in the same
/// way say the same: "cycle: B0, B2, F1" (what takes part, by name), "absent member: all_reduce".
/// Empty for one that completed.
std::string reason_of(const Explanation& explanation);

/// The ranks of the cycle; without one those at which waits end, and those of calls that do not
/// fit.
std::set<std::uint32_t> blamed_ranks(const Explanation& explanation);

}  // namespace pipesim::models
