// From what ranks compute to what they also send and receive: the passes by which PyTorch lowers a
// schedule (torch/distributed/pipelining: _add_unshard_reshard, _add_reduce_grad, _merge_bw,
// _add_send_recv), and the dry run with which it looks for deadlocks (_simulate_comms_compute).
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

/// Whether it is the sending or the receiving end of a message.
bool is_send(ActionKind kind);
bool is_receive(ActionKind kind);
/// What brings the input of a forward or backward, or sends its result; of others kNone.
Action message_of(const Action& action, bool send);

/// An input gradient directly before its weight gradient becomes one backward. Empty slots go.
Schedule merge_backwards(const Schedule& schedule);

/// Before each action the weights of the next three stages of its rank are there. Empty slots go.
Schedule add_unshard_reshard(const Schedule& schedule);

/// After the last backward of a stage its gradients are reduced. Empty slots go.
Schedule add_reduce_grad(const Schedule& schedule);

/// Adds sends and receives between stages on different ranks. In rounds, each rank in turn does its
/// next action, if what that needs has been received or done by then; what it gives is sent at
/// once, and the receive stands where the other rank is at that moment. So all sends and receives
/// follow one order in which they can all be done, one after the other. Between what a partial
/// schedule has and what was done before, nothing is sent. Empty slots take part in
/// rounds and go. Nothing, and an error, where no rank can do its next action. `schedule` is valid
/// and has no messages.
std::optional<Schedule> add_send_recv(const Schedule& schedule, Diagnostics& diagnostics);

/// Each recv directly before what uses it, as `defer_pp_recv` (pytorch#188833); but before a rank
/// sends to a higher rank, it receives what that one sends before it receives this
/// (pytorch#178815). Otherwise both of a pair could send first. `schedule` has messages.
Schedule defer_receives(const Schedule& schedule);

/// With messages where Megatron-LM has them (megatron/core/pipeline_parallel): recvs directly
/// before what uses them or, where ranks have several stages, behind the forward or backward before
/// that. `overlap`: messages that stand together are in the order of `_p2p_ops`, by the parity of
/// the rank. Otherwise they are slots in the order of `_batched_p2p_ops`: a send and the recv from
/// the same neighbor or, where ranks have several stages, all, those of a forward in the steady
/// state together with those of the backward after it. `schedule` has messages.
Schedule in_megatron_order(const Schedule& schedule, bool overlap);

/// Where sends and receives stand in a row.
enum class MessageOrder : std::uint8_t {
  kInTurn,     // as add_send_recv() puts them
  kDeferred,   // see defer_receives()
  kSendFirst,  // a send behind what it sends, a receive ahead of what needs it; sends first
  kRecvFirst,  // likewise, receives first
};

std::optional<MessageOrder> find_message_order(std::string_view name);
std::vector<std::string> message_order_names();

/// Moves the messages of `schedule`, which come from add_send_recv(), to where `order` has them.
Schedule reorder_messages(Schedule schedule, MessageOrder order);

/// Without sends whose recv was done before the partial `schedule`, and recvs whose send was.
Schedule without_half_messages(const Schedule& schedule);

/// How many steps the dry run of PyTorch takes: per step each rank does one action, if it can.
/// Sends never wait in it. Nothing where it comes to a halt, or meets what it cannot do: FSDP and
/// overlap.
std::optional<std::size_t> dry_run_steps(const Schedule& schedule);

}  // namespace pipesim::models
