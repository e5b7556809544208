// Pipeline schedules: in which order each rank does forwards and backwards of which micro-batch,
// and with which messages between them. docs/reference/schedules.md is the page for people.
//
// The words are those of PyTorch's torch.distributed.pipelining, whose CSV files hold such
// schedules: an action is written stage, kind, micro-batch: 0F1, 3SEND_B0, (0F7;7B3)OVERLAP_F_B.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "models/graph/diagnostics.hpp"

namespace pipesim::models {

enum class ActionKind : std::uint8_t {
  kNone,  // empty slots: nothing is done, they only align rows for readers
  kForward,
  kBackward,  // the whole of it: gradients of input and weights
  kInputGrad,
  kWeightGrad,
  kUnshard,     // FSDP: gathers the weights of a stage
  kReshard,     // and drops them again
  kReduceGrad,  // reduces the gradients of a stage over its replicas
  kSendForward,
  kRecvForward,
  kSendBackward,
  kRecvBackward,
};

/// One thing that a rank does. The stage is the one that does it: 0SEND_F1 is received by 1RECV_F1.
/// Schedules have millions of them.
struct Action {
  ActionKind kind = ActionKind::kNone;
  bool overlaps_next = false;  // it and the next of its rank run as one
  std::uint32_t stage = 0;
  std::uint32_t micro_batch = 0;  // of kinds that have one; of empty slots, how many more follow

  bool none() const { return kind == ActionKind::kNone; }

  friend bool operator==(const Action&, const Action&) = default;
};
static_assert(sizeof(Action) == 12);

/// Forwards, backwards, and their halves.
constexpr bool is_compute(ActionKind kind) {
  return kind == ActionKind::kForward || kind == ActionKind::kBackward ||
         kind == ActionKind::kInputGrad || kind == ActionKind::kWeightGrad;
}
/// Backwards, and gradients of the input.
constexpr bool gives_gradient(ActionKind kind) {
  return kind == ActionKind::kInputGrad || kind == ActionKind::kBackward;
}
/// Sends and receives.
constexpr bool is_message(ActionKind kind) {
  return kind == ActionKind::kSendForward || kind == ActionKind::kRecvForward ||
         kind == ActionKind::kSendBackward || kind == ActionKind::kRecvBackward;
}
/// False for what is done once for a stage.
constexpr bool has_micro_batch(ActionKind kind) { return is_message(kind) || is_compute(kind); }
/// "F", "SEND_B"; empty for an empty slot.
const char* action_word(ActionKind kind);

/// As in a file: "0F1"; empty for empty slots.
std::string action_text(const Action& action);

using Actions = std::vector<Action>;

/// Adds empty slots, to those at the end of `actions` if it has some. As one action, since some
/// rows begin with as many as there are ranks.
void add_empty(Actions& actions, std::uint32_t count);

/// A slot of a row is an action, or several that overlap; of messages, a group. Behind the last of
/// the one that begins at `begin`.
inline std::size_t slot_end(const Actions& actions, std::size_t begin) {
  while (actions[begin].overlaps_next) ++begin;
  return begin + 1;
}

/// "0F1", "(0F7;7B3)OVERLAP_F_B", "0SEND_F1+0RECV_B0"; of n empty slots, n - 1 commas.
std::string slot_text(const Actions& actions, std::size_t begin);

/// What every rank of a pipeline does.
///
/// Where data go both ways at once (DualPipe, Chimera) there are two pipelines over the same ranks,
/// and the stages of the second are numbered after those of the first. Micro-batches are numbered
/// in each pipeline by itself.
struct Schedule {
  std::uint32_t stages = 0;         // of all pipelines
  std::uint32_t pipelines = 1;      // divides `stages`
  std::uint32_t micro_batches = 0;  // of one pipeline
  bool partial = false;             // the end of a longer one: what is not in it was done before
  std::vector<Actions> ranks;
  std::vector<std::vector<Place>> places;  // beside `ranks`, of what was read; else empty
  std::vector<std::uint32_t> rank_of_stage;

  std::uint32_t depth() const { return stages / pipelines; }
  // Most schedules have one pipeline, and are asked once for each action: too often to divide.
  bool is_first(std::uint32_t stage) const {
    return pipelines == 1 ? stage == 0 : stage % depth() == 0;
  }
  bool is_last(std::uint32_t stage) const {
    return pipelines == 1 ? stage + 1 == stages : (stage + 1) % depth() == 0;
  }

  /// Of a forward or gradient of one micro-batch in one stage, in arrays with one for each.
  std::size_t index(std::uint32_t stage, std::uint32_t micro_batch) const {
    return std::size_t{stage} * micro_batches + micro_batch;
  }
  std::size_t index(const Action& action) const { return index(action.stage, action.micro_batch); }
  std::size_t index_count() const { return std::size_t{stages} * micro_batches; }

  /// Where an action was read; nowhere, if it was not.
  Place place(std::uint32_t rank, std::size_t i) const {
    return places.empty() ? Place() : places[rank][i];
  }

  /// Sends and receives stand in it, as opposed to one that only computes.
  bool has_messages() const;

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

/// The schedule without its empty slots.
Schedule without_empty(const Schedule& schedule);

/// How large Schedule::index_count() may be.
inline constexpr std::size_t kMaxScheduled = std::size_t{1} << 26;

/// Finds out which rank has which stage, and checks what PyTorch checks when it loads a schedule:
/// each stage is on one rank; on it each backward comes after the forward of the same micro-batch,
/// and a weight gradient after the input gradient; each stage does each micro-batch once. Stages,
/// pipelines, micro-batches and ranks must be there. Of a partial schedule each stage has at least
/// one action, and what stands in it nowhere was done. False where `diagnostics` got an error.
/// Makes an array with a byte for each forward.
bool validate(Schedule& schedule, Diagnostics& diagnostics);

}  // namespace pipesim::models
