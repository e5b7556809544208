// Operations of calls: collectives by PyTorch's names, point-to-point calls, and NCCL's own
// operations on a communicator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pipesim::models {

enum class Operation : std::uint8_t {
  kAllGather,
  kAllReduce,
  kAllToAll,
  kBarrier,
  kBroadcast,
  kGather,
  kReduce,
  kReduceScatter,
  kScatter,
  // Not collectives:
  kSend,
  kReceive,
  // NCCL's operations of a host on a communicator:
  kSplit,
  kDestroy,
  kFinalize,
  kAbort,
  kRevoke,
  kShrink,
  kSuspend,
  kResume,
  kDrain,
};

inline bool is_collective(Operation operation) { return operation < Operation::kSend; }

/// Whether the host runs the operation on the communicator itself: split, destroy and so on.
inline bool is_of_host(Operation operation) { return operation >= Operation::kSplit; }

/// Whether the operation ends the rank's calls on the communicator.
inline bool aborts(Operation operation) {
  return operation == Operation::kAbort || operation == Operation::kRevoke;
}

/// Whether one rank, the root, sends or receives data that the other ranks do not.
inline bool has_root(Operation operation) {
  return operation == Operation::kBroadcast || operation == Operation::kGather ||
         operation == Operation::kReduce || operation == Operation::kScatter;
}

/// Whether no rank can finish the call before all ranks have entered it, because each rank needs
/// data of every other rank.
inline bool synchronizes_all(Operation operation) {
  return is_collective(operation) && !has_root(operation);
}

/// Whether NCCL and PyTorch run the operation on the host, which blocks until the operation is
/// done.
inline bool blocks_host(Operation operation) {
  return operation == Operation::kBarrier || is_of_host(operation);
}

/// Returns the name used in scenarios and reports: all_gather, send, ...
const std::string& operation_name(Operation operation);

/// Returns the names of all collectives, in alphabetical order.
const std::vector<std::string>& collective_names();

/// Returns the operation that operation_name() calls `name`; nullopt if there is none.
std::optional<Operation> find_operation(std::string_view name);

/// Returns the operation named within an op name of PyTorch, NCCL or OneFlow: _all_gather_base,
/// ALLREDUCE_COALESCED, reduce_scatter_tensor_coalesced, kOpTypeAll2All. Returns nullopt if the
/// name contains no operation ("coalesced").
std::optional<Operation> operation_in(std::string_view name);

/// Returns the operation that NCCL's logs and RAS call `name` (AllReduce, Send); nullopt if there
/// is none.
std::optional<Operation> nccl_operation(std::string_view name);

}  // namespace pipesim::models
