#include "models/graph/operation.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace pipesim::models {
namespace {

// Returns the names of the operations, in the order of enum Operation.
const std::vector<std::string>& names() {
  static const std::vector<std::string> kNames = {
      "all_gather",     "all_reduce", "all_to_all", "barrier", "broadcast", "gather",  "reduce",
      "reduce_scatter", "scatter",    "send",       "recv",    "split",     "destroy", "finalize",
      "abort",          "revoke",     "shrink",     "suspend", "resume",    "drain"};
  return kNames;
}

}  // namespace

const std::string& operation_name(Operation operation) {
  return names()[static_cast<std::size_t>(operation)];
}

const std::vector<std::string>& collective_names() {
  static const std::vector<std::string> kNames(
      names().begin(), names().begin() + static_cast<std::ptrdiff_t>(Operation::kSend));
  return kNames;
}

std::optional<Operation> find_operation(std::string_view name) {
  const auto found = std::find(names().begin(), names().end(), name);
  if (found == names().end()) return std::nullopt;
  return static_cast<Operation>(found - names().begin());
}

std::optional<Operation> operation_in(std::string_view name) {
  // A word comes before the words that it contains. PyTorch implements a barrier as an all_reduce,
  // and newer versions record it as all_reduce_barrier.
  static constexpr std::array<std::pair<std::string_view, Operation>, 12> kWords = {{
      {"reducescatter", Operation::kReduceScatter},
      {"allreduce", Operation::kAllReduce},
      {"allgather", Operation::kAllGather},
      {"alltoall", Operation::kAllToAll},
      {"all2all", Operation::kAllToAll},
      {"broadcast", Operation::kBroadcast},
      {"scatter", Operation::kScatter},
      {"gather", Operation::kGather},
      {"barrier", Operation::kBarrier},
      {"reduce", Operation::kReduce},
      {"send", Operation::kSend},
      {"recv", Operation::kReceive},
  }};
  std::string letters;
  for (const char c : name) {
    if (c != '_') letters += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  for (const auto& [word, operation] : kWords) {
    if (letters.find(word) != std::string::npos) return operation;
  }
  return std::nullopt;
}

std::optional<Operation> nccl_operation(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, Operation>, 9> kNames = {{
      {"AllReduce", Operation::kAllReduce},
      {"AllGather", Operation::kAllGather},
      {"ReduceScatter", Operation::kReduceScatter},
      {"AlltoAll", Operation::kAllToAll},
      {"AllToAll", Operation::kAllToAll},
      {"Broadcast", Operation::kBroadcast},
      {"Reduce", Operation::kReduce},
      {"Send", Operation::kSend},
      {"Recv", Operation::kReceive},
  }};
  const auto* found = std::find_if(kNames.begin(), kNames.end(),
                                   [&](const auto& known) { return known.first == name; });
  return found == kNames.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace pipesim::models
