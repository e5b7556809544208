// Pipeline schedules: in which order each rank does forwards and backwards of which micro-batch,
// and with which messages between them. docs/schedules.md is the page for people.
//
// The words are those of PyTorch's torch.distributed.pipelining, whose CSV files hold such
// schedules: an action is written stage, kind, micro-batch: 0F1, 3SEND_B0, (0F7;7B3)OVERLAP_F_B.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/diagnostics.hpp"

namespace pipesim::models {

enum class ActionKind : std::uint8_t {
  kNone,  // an empty slot: nothing is done, it only aligns rows for readers
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
  kOverlap,  // a forward and a backward that run as one: `parts`
};

/// One thing that a rank does. The stage is the one that does it: 0SEND_F1 is received by 1RECV_F1.
struct Action {
  ActionKind kind = ActionKind::kNone;
  std::uint32_t stage = 0;
  std::uint32_t micro_batch = 0;  // of kinds that have one
  Place place;
  std::vector<Action> parts;  // of kOverlap

  bool none() const { return kind == ActionKind::kNone; }

  /// Wherever they stand in a file.
  friend bool operator==(const Action& a, const Action& b) {
    return a.kind == b.kind && a.stage == b.stage && a.micro_batch == b.micro_batch &&
           a.parts == b.parts;
  }
};

/// Forwards, backwards, their halves, and what overlaps.
bool is_compute(ActionKind kind);
/// Sends and receives.
bool is_message(ActionKind kind);
/// False for what is done once for a stage.
bool has_micro_batch(ActionKind kind);
/// "F", "SEND_B", "OVERLAP_F_B"; empty for an empty slot.
const char* action_word(ActionKind kind);

/// As in a file: "0F1", "(0F7;7B3)OVERLAP_F_B"; empty for an empty slot.
std::string action_text(const Action& action);

/// The action itself, or those that overlap in it.
std::vector<Action> parts_of(const Action& action);

using Actions = std::vector<Action>;

/// What every rank of a pipeline does.
///
/// Where data go both ways at once (DualPipe, Chimera) there are two pipelines over the same ranks,
/// and the stages of the second are numbered after those of the first. Micro-batches are numbered
/// in each pipeline by itself.
struct Schedule {
  std::uint32_t stages = 0;         // of all pipelines
  std::uint32_t pipelines = 1;      // divides `stages`
  std::uint32_t micro_batches = 0;  // of one pipeline
  std::vector<Actions> ranks;
  std::vector<std::uint32_t> rank_of_stage;

  std::uint32_t depth() const { return stages / pipelines; }
  bool is_first(std::uint32_t stage) const { return stage % depth() == 0; }
  bool is_last(std::uint32_t stage) const { return (stage + 1) % depth() == 0; }

  /// Sends and receives stand in it, as opposed to one that only computes.
  bool has_messages() const;

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

/// The schedule without its empty slots.
Schedule without_empty(Schedule schedule);

/// Finds out which rank has which stage, and checks what PyTorch checks when it loads a schedule:
/// each stage is on one rank; on it each backward comes after the forward of the same micro-batch,
/// and a weight gradient after the input gradient; each stage does each micro-batch once. Stages,
/// pipelines, micro-batches and ranks must be there. False where `diagnostics` got an error.
bool validate(Schedule& schedule, Diagnostics& diagnostics);

}  // namespace pipesim::models
