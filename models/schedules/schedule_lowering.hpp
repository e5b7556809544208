// Lowering of schedules: PyTorch's passes that add communication to computation
// (torch/distributed/pipelining: _add_unshard_reshard, _add_reduce_grad, _merge_bw,
// _add_send_recv), and the dry run that detects deadlocks (_simulate_comms_compute).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/graph/schedule.hpp"

namespace pipesim::models {

/// Whether `kind` is a send, or a recv.
bool is_send(ActionKind kind);
bool is_receive(ActionKind kind);
/// Returns the recv of the input of a forward or backward or, if `send`, the send of its result;
/// kNone for other actions.
Action message_of(const Action& action, bool send);

/// Merges an input gradient and its weight gradient into one backward if the weight gradient comes
/// directly after the input gradient. Drops empty slots.
Schedule merge_backwards(const Schedule& schedule);

/// Adds unshards and reshards: before each action, the weights of the next three stages of its rank
/// are available. Drops empty slots.
Schedule add_unshard_reshard(const Schedule& schedule);

/// Adds the reduction of a stage's gradients after its last backward. Drops empty slots.
Schedule add_reduce_grad(const Schedule& schedule);

/// Adds sends and recvs between stages on different ranks. In rounds, each rank in turn runs its
/// next action if its inputs have been received or computed. The result is sent at once, and the
/// recv is placed at the current position of the other rank. So all sends and recvs follow one
/// order in which they can complete one after another. A partial schedule exchanges nothing with
/// actions done before it. Empty slots take part in rounds and are dropped. If no rank can run its
/// next action, reports an error and returns nullopt. `schedule` is valid and has no sends or
/// recvs.
std::optional<Schedule> add_send_recv(const Schedule& schedule, Diagnostics& diagnostics);

/// Moves each recv directly before its use, as `defer_pp_recv` does (pytorch#188833). Exception:
/// before a rank sends to a higher rank, it receives everything that the higher rank sends before
/// the matching recv (pytorch#178815). Otherwise both ranks of a pair could send first. `schedule`
/// has sends and recvs.
Schedule defer_receives(const Schedule& schedule);

/// Moves sends and recvs to their places in Megatron-LM (megatron/core/pipeline_parallel): recvs
/// directly before their use or, if ranks have several stages, after the previous forward or
/// backward. With `overlap`, adjacent sends and recvs have the order of `_p2p_ops`, which depends
/// on the parity of the rank. Otherwise, they form slots in the order of `_batched_p2p_ops`: a send
/// and the recv from the same neighbor or, if ranks have several stages, all adjacent sends and
/// recvs. In the steady state, those of a forward join those of the next backward. `schedule` has
/// sends and recvs.
Schedule in_megatron_order(const Schedule& schedule, bool overlap);

/// The places of sends and recvs in a row.
enum class MessageOrder : std::uint8_t {
  kInTurn,    // as add_send_recv() places them
  kDeferred,  // see defer_receives()
  // Sends directly after their actions, recvs directly before their use; sends come first.
  kSendFirst,
  kRecvFirst,  // like kSendFirst, but recvs come first
};

std::optional<MessageOrder> find_message_order(std::string_view name);
std::vector<std::string> message_order_names();

/// Moves the sends and recvs of `schedule`, which come from add_send_recv(), to their places in
/// `order`.
Schedule reorder_messages(Schedule schedule, MessageOrder order);

/// Returns a partial `schedule` without each send or recv whose matching call was done before the
/// schedule.
Schedule without_half_messages(const Schedule& schedule);

/// Returns the number of steps of PyTorch's dry run. In each step, every rank runs one action, if
/// possible; sends never wait. Returns nullopt if the dry run stops making progress, or if it does
/// not support an action (FSDP, overlap).
std::optional<std::size_t> dry_run_steps(const Schedule& schedule);

}  // namespace pipesim::models
