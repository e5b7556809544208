// What is done within an action of a schedule, and when.
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

/// What brings the input of a forward or gradient from another rank; kNone for other kinds.
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

/// Whether an action of this kind does what is done at that moment. `is_last`: it is the last of
/// its stage that completes gradients.
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

/// The actions of one kind in one stage, which are all on one rank. Those that overlap with others
/// are not among them.
struct ActionSort {
  std::uint32_t count = 0;
  Numbering numbers;  // of their micro-batches, as far as `regular`
  bool regular = true;
  std::uint32_t actor = kNoIndex;                 // of all of them, if they share one
  std::map<std::uint32_t, std::uint32_t> actors;  // else of each micro-batch

  void add(std::uint32_t micro_batch) {
    if (count == 0) numbers.first = micro_batch;
    if (count == 1) numbers.step = std::int64_t{micro_batch} - numbers.first;
    regular = regular && numbers.number(count) == micro_batch;
    ++count;
  }
};

/// A part of what an action computes, and what is called with it.
struct BodyStep {
  static constexpr std::size_t kNoCall = std::numeric_limits<std::size_t>::max();

  std::size_t call = kNoCall;  // of Pipeline::collectives
  bool beside = false;         // it begins with the part rather than behind it
};

/// An action of a slot with what is done within it.
struct ActionBody {
  Action action;
  std::vector<BodyStep> steps;    // a last part follows
  std::int64_t takes_ns = 0;      // to compute, all parts together
  std::uint32_t done = 0;         // parts
  std::uint32_t call = kNoIndex;  // the actor that the next part waits for

  /// Behind one exchange in a ring what came with it is computed before the first of the next.
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

/// What overlaps takes another time than its actions one by one.
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
