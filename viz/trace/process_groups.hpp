// The process groups that PyTorch would create, and the arguments of their calls in a trace.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/task_graph.hpp"

namespace pipesim::viz {

/// A list of ranks that communicate, named as in PyTorch.
struct ProcessGroup {
  std::string name;  // "tp"; "tp[1]" if the group has several lists
  std::string about;
  const std::vector<std::uint32_t>* ranks = nullptr;
  std::string ranks_text;  // "[0, 1]"; only the first 30 ranks, as in PyTorch
};

/// The process groups of the named communicators, and of collectives without a communicator.
/// `graph` must outlive this object.
class ProcessGroups {
 public:
  explicit ProcessGroups(const models::TaskGraph& graph);

  const std::vector<ProcessGroup>& all() const { return groups_; }

  /// Returns the process group that contains `rank`, or null.
  const ProcessGroup* of_communicator(std::uint32_t communicator, std::uint32_t rank) const;
  const ProcessGroup* of_group(std::uint32_t group, std::uint32_t rank) const;

 private:
  void add(const std::string& name, const models::Group& group);

  const models::TaskGraph& graph_;
  std::vector<ProcessGroup> groups_;
  // Index in `groups_` of the first list of each communicator.
  std::vector<std::uint32_t> of_communicator_;
  // Index in `groups_` of the first list of each group; kNoIndex if no collective uses the group
  // directly.
  std::vector<std::uint32_t> of_group_;
};

/// Returns NCCL's kernel for `operation`: "ncclKernel_AllReduce".
std::string_view nccl_kernel(models::Operation operation);

/// Returns PyTorch's "Collective name" for `operation`: "allreduce".
std::string_view collective_name(models::Operation operation);

/// An element type, named as in PyTorch. An unknown type keeps its name and has no bytes.
struct ElementType {
  std::string name;
  std::int64_t bytes = 0;
};

/// Returns the element type for a name: "bf16" is BFloat16. An empty name is Byte, so that sizes
/// are in bytes.
ElementType element_type(const std::string& name);

/// Returns the output bytes of a collective per rank, for `bytes` of input and a group of
/// `members`; as in models/lowering/cost.hpp.
std::int64_t bytes_out(models::Operation operation, std::int64_t bytes, std::int64_t members);

}  // namespace pipesim::viz
