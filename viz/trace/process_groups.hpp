// The process groups that PyTorch would have, and what a call on one of them says of itself in a
// trace.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/task_graph.hpp"

namespace pipesim::viz {

/// A list of ranks that communicate, as PyTorch names it.
struct ProcessGroup {
  std::string name;  // "tp", or "tp[1]" where the group has several lists
  std::string about;
  const std::vector<std::uint32_t>* ranks = nullptr;
  std::string ranks_text;  // "[0, 1]"; of more than 30 the first 30, as PyTorch writes it
};

/// Of the named communicators, and of the groups of collectives that have their own. `graph` must
/// outlive it.
class ProcessGroups {
 public:
  explicit ProcessGroups(const models::TaskGraph& graph);

  const std::vector<ProcessGroup>& all() const { return groups_; }

  /// That of `rank`, or null.
  const ProcessGroup* of_communicator(std::uint32_t communicator, std::uint32_t rank) const;
  const ProcessGroup* of_group(std::uint32_t group, std::uint32_t rank) const;

 private:
  void add(const std::string& name, const models::Group& group);

  const models::TaskGraph& graph_;
  std::vector<ProcessGroup> groups_;
  std::vector<std::uint32_t> of_communicator_;  // of each the first of its lists, in groups_
  std::vector<std::uint32_t> of_group_;         // kNoIndex: no collective uses it so
};

/// "ncclKernel_AllReduce": the kernel that NCCL runs for `operation`.
std::string_view nccl_kernel(models::Operation operation);

/// "allreduce": what PyTorch calls it in "Collective name".
std::string_view collective_name(models::Operation operation);

/// A type of elements as PyTorch writes it. What is not known keeps its name, and has no bytes.
struct ElementType {
  std::string name;
  std::int64_t bytes = 0;
};

/// "bf16" is BFloat16. Nothing said: Byte, so that sizes are in bytes.
ElementType element_type(const std::string& name);

/// What comes out of a collective on a rank of a group of `members` that is given `bytes`, as in
/// models/lowering/cost.hpp.
std::int64_t bytes_out(models::Operation operation, std::int64_t bytes, std::int64_t members);

}  // namespace pipesim::viz
