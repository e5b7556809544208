// Identity of a hang: a detailed signature, which a smaller job can share; a short phrase; and the
// ranks to blame.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
#include "models/result/explanation.hpp"

namespace pipesim::models {

/// A hang without ranks, streams, micro-batches and op numbers: verdict, cause, and each kind of
/// decisive wait once. `waits` has mismatched calls with their differences, and the waits of the
/// cycle, by kind and by the ops at their ends. Without a cycle, `waits` has the first wait for
/// each root, deaths that no timeout caused, and device errors.
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

/// Whether a signature distinguishes ops whose names differ only in numbers ("block4-mlp",
/// "block5-mlp"), or treats such ops as equal layers.
enum class Layers : std::uint8_t { kEach, kOnce };

/// Returns the signature of the end of a run of `lowered`, made from `graph`.
HangSignature hang_signature(const TaskGraph& graph, const Lowered& lowered,
                             const Explanation& explanation, Layers layers = Layers::kEach);

/// Returns the reason why a run did not complete: "cycle: B0, B2, F1" (the participants, by name),
/// "absent member: all_reduce". Omits ranks and op numbers, so that runs that hang in the same way
/// have the same reason. Returns an empty string for a completed run.
std::string reason_of(const Explanation& explanation);

/// Returns the ranks on the cycle; without a cycle, the ranks of the roots and of mismatched calls.
std::set<std::uint32_t> blamed_ranks(const Explanation& explanation);

}  // namespace pipesim::models
