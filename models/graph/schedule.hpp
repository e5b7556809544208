// Pipeline schedules: the order of each rank's forwards and backwards of micro-batches, and the
// sends and recvs between ranks. docs/reference/schedules.md is the user documentation.
//
// The notation is PyTorch's (torch.distributed.pipelining, whose CSV files hold such schedules). An
// action is written stage, kind, micro-batch: 0F1, 3SEND_B0, (0F7;7B3)OVERLAP_F_B.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "models/graph/diagnostics.hpp"

namespace pipesim::models {

enum class ActionKind : std::uint8_t {
  kNone,  // empty slots: no work; they align rows for people who read a file
  kForward,
  kBackward,  // a full backward: gradients of input and weights
  kInputGrad,
  kWeightGrad,
  kUnshard,     // FSDP: gathers the weights of a stage
  kReshard,     // FSDP: drops the gathered weights
  kReduceGrad,  // reduces the gradients of a stage over its replicas
  kSendForward,
  kRecvForward,
  kSendBackward,
  kRecvBackward,
};

/// One action of a rank. The stage is the acting one: 1RECV_F1 receives 0SEND_F1. Schedules have
/// millions of actions, so the struct is small.
struct Action {
  ActionKind kind = ActionKind::kNone;
  bool overlaps_next = false;  // whether it overlaps the next action of its rank
  std::uint32_t stage = 0;
  std::uint32_t micro_batch = 0;  // number of further empty slots, for kNone

  bool none() const { return kind == ActionKind::kNone; }

  friend bool operator==(const Action&, const Action&) = default;
};
static_assert(sizeof(Action) == 12);

/// Whether `kind` is a forward, a backward, or half of a backward.
constexpr bool is_compute(ActionKind kind) {
  return kind == ActionKind::kForward || kind == ActionKind::kBackward ||
         kind == ActionKind::kInputGrad || kind == ActionKind::kWeightGrad;
}
/// Whether `kind` is a backward or an input gradient.
constexpr bool gives_gradient(ActionKind kind) {
  return kind == ActionKind::kInputGrad || kind == ActionKind::kBackward;
}
/// Whether `kind` is a send or a recv.
constexpr bool is_message(ActionKind kind) {
  return kind == ActionKind::kSendForward || kind == ActionKind::kRecvForward ||
         kind == ActionKind::kSendBackward || kind == ActionKind::kRecvBackward;
}
/// Whether an action of this kind belongs to a micro-batch; other actions run once per stage.
constexpr bool has_micro_batch(ActionKind kind) { return is_message(kind) || is_compute(kind); }
/// Returns the word of an action, such as "F" or "SEND_B"; an empty string for an empty slot.
const char* action_word(ActionKind kind);

/// Returns the action in file notation, such as "0F1"; an empty string for empty slots.
std::string action_text(const Action& action);

using Actions = std::vector<Action>;

/// Appends `count` empty slots, merged with empty slots at the end of `actions`. Adjacent empty
/// slots are one action, because some rows begin with one empty slot per rank.
void add_empty(Actions& actions, std::uint32_t count);

/// Returns the end of the slot that begins at `begin`. A slot of a row is one action, several
/// overlapping actions, or a group of sends and recvs.
inline std::size_t slot_end(const Actions& actions, std::size_t begin) {
  while (actions[begin].overlaps_next) ++begin;
  return begin + 1;
}

/// Returns the slot in file notation, such as "0F1", "(0F7;7B3)OVERLAP_F_B" or "0SEND_F1+0RECV_B0";
/// for n empty slots, n - 1 commas.
std::string slot_text(const Actions& actions, std::size_t begin);

/// The actions of every rank of a pipeline.
///
/// If data flow in both directions at once (DualPipe, Chimera), two pipelines share the ranks. The
/// stages of the second pipeline are numbered after the stages of the first. Each pipeline numbers
/// its micro-batches separately.
struct Schedule {
  std::uint32_t stages = 0;         // number of stages of all pipelines together
  std::uint32_t pipelines = 1;      // number of pipelines; divides `stages`
  std::uint32_t micro_batches = 0;  // number per pipeline
  bool partial = false;             // whether actions that are not listed were done before
  std::vector<Actions> ranks;
  // Parallel to `ranks`, for schedules read from a file; else empty.
  std::vector<std::vector<Place>> places;
  std::vector<std::uint32_t> rank_of_stage;

  std::uint32_t depth() const { return stages / pipelines; }
  // Most schedules have one pipeline. For these, is_first() and is_last(), which run for each
  // action, avoid the division.
  bool is_first(std::uint32_t stage) const {
    return pipelines == 1 ? stage == 0 : stage % depth() == 0;
  }
  bool is_last(std::uint32_t stage) const {
    return pipelines == 1 ? stage + 1 == stages : (stage + 1) % depth() == 0;
  }

  /// Returns the index of a stage's micro-batch in arrays with one entry per stage and micro-batch.
  std::size_t index(std::uint32_t stage, std::uint32_t micro_batch) const {
    return std::size_t{stage} * micro_batches + micro_batch;
  }
  std::size_t index(const Action& action) const { return index(action.stage, action.micro_batch); }
  std::size_t index_count() const { return std::size_t{stages} * micro_batches; }

  /// Returns the place of an action in its file; an empty place if the schedule was generated.
  Place place(std::uint32_t rank, std::size_t i) const {
    return places.empty() ? Place() : places[rank][i];
  }

  /// Whether the schedule contains sends and recvs, not only computation.
  bool has_messages() const;

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

/// Returns the schedule without its empty slots.
Schedule without_empty(const Schedule& schedule);

/// Upper limit for Schedule::index_count().
inline constexpr std::size_t kMaxScheduled = std::size_t{1} << 26;

/// Sets `rank_of_stage`, and checks what PyTorch checks when it loads a schedule: each stage is on
/// one rank; each backward comes after the forward of the same micro-batch, and each weight
/// gradient after the input gradient; each stage runs each micro-batch once. If the schedule has
/// sends and recvs, each action comes after the recv or computation of its input. Stages,
/// pipelines, micro-batches and ranks must be set. In a partial schedule, each stage needs at least
/// one action, and all unlisted actions count as done. Returns false after an error. Uses one byte
/// of memory per forward.
bool validate(Schedule& schedule, Diagnostics& diagnostics);

}  // namespace pipesim::models
