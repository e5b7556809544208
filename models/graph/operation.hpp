// What a call does: the collectives by PyTorch's names, point-to-point calls, and what NCCL does
// with a communicator itself.
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
  // No collectives:
  kSend,
  kReceive,
  kSplit,
  kDestroy,
};

inline bool is_collective(Operation operation) { return operation < Operation::kSend; }

/// One rank gives or gets what all others do not.
inline bool has_root(Operation operation) {
  return operation == Operation::kBroadcast || operation == Operation::kGather ||
         operation == Operation::kReduce || operation == Operation::kScatter;
}

/// No rank can finish before all have entered: each needs data of every other.
inline bool synchronizes_all(Operation operation) {
  return is_collective(operation) && !has_root(operation);
}

/// NCCL and PyTorch do these on the host, which waits for them.
inline bool blocks_host(Operation operation) {
  return operation == Operation::kBarrier || operation == Operation::kSplit ||
         operation == Operation::kDestroy;
}

/// As scenarios and reports write it: all_gather, send, ...
const std::string& operation_name(Operation operation);

/// The names of all collectives, in the order of the alphabet.
const std::vector<std::string>& collective_names();

/// The reverse of operation_name.
std::optional<Operation> find_operation(std::string_view name);

/// What an op of PyTorch, NCCL or OneFlow does, which says so in its name in one way or another:
/// _all_gather_base, ALLREDUCE_COALESCED, reduce_scatter_tensor_coalesced, kOpTypeAll2All. Nothing
/// if it says none of these ("coalesced").
std::optional<Operation> operation_in(std::string_view name);

/// NCCL's own name of a call, as its logs and RAS write it: AllReduce, Send. Nothing for any other.
std::optional<Operation> nccl_operation(std::string_view name);

}  // namespace pipesim::models
