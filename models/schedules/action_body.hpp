// The steps within an action of a schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "models/graph/pipeline.hpp"
#include "models/graph/schedule.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::models {

/// Returns the kind of recv that brings the input of a forward or gradient from another rank; kNone
/// for other kinds.
inline ActionKind receive_for(ActionKind kind) {
  switch (kind) {
    case ActionKind::kForward:
      return ActionKind::kRecvForward;
    case ActionKind::kInputGrad:
    case ActionKind::kBackward:
      return ActionKind::kRecvBackward;
    default:
      return ActionKind::kNone;
  }
}

inline bool completes_gradients(ActionKind kind) {
  return kind == ActionKind::kBackward || kind == ActionKind::kWeightGrad;
}

/// Whether an action of this kind includes collectives of `moment`. `is_last`: the action is the
/// last of its stage that completes gradients.
inline bool is_within(StageMoment moment, ActionKind kind, bool is_last) {
  switch (moment) {
    case StageMoment::kForward:
      return kind == ActionKind::kForward;
    case StageMoment::kBackward:
      return gives_gradient(kind);
    case StageMoment::kLastBackward:
      return is_last && completes_gradients(kind);
    case StageMoment::kGradients:
      return kind == ActionKind::kReduceGrad;
    case StageMoment::kUnshard:
      return kind == ActionKind::kUnshard;
    case StageMoment::kStep:
      return false;
  }
  return false;
}

/// The actions of one kind in one stage, all on one rank. Overlapping actions are not included.
struct ActionSort {
  std::uint32_t count = 0;
  Numbering numbers;                              // micro-batches, if `regular`
  bool regular = true;                            // whether the actions share one actor
  std::uint32_t actor = kNoIndex;                 // actor of all actions; kNoIndex: see `actors`
  std::map<std::uint32_t, std::uint32_t> actors;  // by micro-batch: actor

  void add(std::uint32_t micro_batch) {
    if (count == 0) numbers.first = micro_batch;
    if (count == 1) numbers.step = std::int64_t{micro_batch} - numbers.first;
    regular = regular && numbers.number(count) == micro_batch;
    ++count;
  }
};

/// A part of an action's computation, and the call made with it.
struct BodyStep {
  static constexpr std::size_t kNoCall = std::numeric_limits<std::size_t>::max();

  std::size_t call = kNoCall;  // index in Pipeline::collectives
  bool beside = false;         // whether the call starts with the part, not after it
};

/// An action of a slot, with its computation split into parts by calls.
struct ActionBody {
  Action action;
  std::vector<BodyStep> steps;    // one more part follows the last step
  std::int64_t takes_ns = 0;      // computation time of all parts together
  std::uint32_t done = 0;         // number of parts done
  std::uint32_t call = kNoIndex;  // actor that the next part waits for

  /// Adds a call. If the call is the first exchange of a ring and follows another ring, first adds
  /// a part that computes with the data of the previous ring's last exchange.
  void add(std::size_t one, bool beside, bool first) {
    if (beside && first && !steps.empty() && steps.back().beside) steps.emplace_back();
    steps.push_back({one, beside});
  }

  std::int64_t next_part() {
    const auto parts = static_cast<std::int64_t>(steps.size()) + 1;
    const std::int64_t takes = takes_ns / parts + (done < takes_ns % parts ? 1 : 0);
    ++done;
    return takes;
  }
};

/// Scales the computation times of overlapping actions so that their sum is `takes_ns`.
inline void share(std::int64_t takes_ns, std::vector<ActionBody>& bodies) {
  std::int64_t sum = 0;
  for (const ActionBody& body : bodies) sum += body.takes_ns;
  if (sum == takes_ns) return;
  std::int64_t left = takes_ns;
  for (ActionBody& body : bodies) {
    const double part =
        sum == 0 ? 0 : static_cast<double>(body.takes_ns) / static_cast<double>(sum);
    body.takes_ns = static_cast<std::int64_t>(static_cast<double>(takes_ns) * part);
    left -= body.takes_ns;
  }
  bodies.back().takes_ns += left;
}

}  // namespace pipesim::models
