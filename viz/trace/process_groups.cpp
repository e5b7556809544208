#include "viz/trace/process_groups.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pipesim::viz {
namespace {

using models::kNoIndex;
using models::Operation;

// Limit in PyTorch: kTruncatLength in torch/csrc/profiler/util.cpp.
constexpr std::size_t kMaxRanks = 30;

std::string bracketed(const std::vector<std::uint32_t>& ranks) {
  if (ranks.size() <= kMaxRanks) return fmt::format("[{}]", fmt::join(ranks, ", "));
  return fmt::format("[{}, ...]", fmt::join(ranks.begin(), ranks.begin() + kMaxRanks, ", "));
}

}  // namespace

ProcessGroups::ProcessGroups(const models::TaskGraph& graph)
    : graph_(graph), of_group_(graph.groups.size(), kNoIndex) {
  for (const models::CommunicatorTemplate& communicator : graph.communicators) {
    of_communicator_.push_back(static_cast<std::uint32_t>(groups_.size()));
    add(communicator.name, graph.groups[communicator.group]);
  }
  for (const models::ActorTemplate& actor : graph.actors) {
    if (!actor.collective || actor.collective->communicator != kNoIndex) continue;
    std::uint32_t& first = of_group_[actor.collective->group];
    if (first != kNoIndex) continue;
    first = static_cast<std::uint32_t>(groups_.size());
    const models::Group& group = graph.groups[actor.collective->group];
    add(group.name, group);
  }
}

void ProcessGroups::add(const std::string& name, const models::Group& group) {
  for (std::size_t i = 0; i < group.lists.size(); ++i) {
    groups_.push_back({group.lists.size() == 1 ? name : fmt::format("{}[{}]", name, i), name,
                       &group.lists[i], bracketed(group.lists[i])});
  }
}

const ProcessGroup* ProcessGroups::of_communicator(std::uint32_t communicator,
                                                   std::uint32_t rank) const {
  const std::uint32_t list = graph_.groups[graph_.communicators[communicator].group].list_of(rank);
  return list == kNoIndex ? nullptr : &groups_[of_communicator_[communicator] + list];
}

const ProcessGroup* ProcessGroups::of_group(std::uint32_t group, std::uint32_t rank) const {
  const std::uint32_t list = graph_.groups[group].list_of(rank);
  const bool known = list != kNoIndex && of_group_[group] != kNoIndex;
  return known ? &groups_[of_group_[group] + list] : nullptr;
}

// Returns the kernel of an operation. NCCL has kernels for these five operations, and for groups of
// sends and receives, from which PyTorch builds all other operations. A PyTorch barrier is an
// all-reduce.
std::string_view nccl_kernel(Operation operation) {
  switch (operation) {
    case Operation::kAllReduce:
    case Operation::kBarrier:
      return "ncclKernel_AllReduce";
    case Operation::kAllGather:
      return "ncclKernel_AllGather";
    case Operation::kReduceScatter:
      return "ncclKernel_ReduceScatter";
    case Operation::kBroadcast:
      return "ncclKernel_Broadcast";
    case Operation::kReduce:
      return "ncclKernel_Reduce";
    default:
      return "ncclKernel_SendRecv";
  }
}

std::string_view collective_name(Operation operation) {
  if (operation == Operation::kAllReduce) return "allreduce";
  return operation_name(operation);
}

ElementType element_type(const std::string& name) {
  static const std::array<std::pair<std::vector<std::string_view>, ElementType>, 9> kTypes = {
      {{{"", "u8", "uint8", "byte"}, {"Byte", 1}},
       {{"i8", "int8", "char"}, {"Char", 1}},
       {{"bf16", "bfloat16"}, {"BFloat16", 2}},
       {{"f16", "fp16", "half", "float16"}, {"Half", 2}},
       {{"f32", "fp32", "float", "float32"}, {"Float", 4}},
       {{"f64", "fp64", "double", "float64"}, {"Double", 8}},
       {{"i32", "int32", "int"}, {"Int", 4}},
       {{"i64", "int64", "long"}, {"Long", 8}},
       {{"bool"}, {"Bool", 1}}}};
  for (const auto& [names, type] : kTypes) {
    if (std::find(names.begin(), names.end(), name) != names.end()) return type;
  }
  return {name, 0};
}

std::int64_t bytes_out(Operation operation, std::int64_t bytes, std::int64_t members) {
  const bool grows = operation == Operation::kAllGather || operation == Operation::kGather;
  if (grows && bytes <= std::numeric_limits<std::int64_t>::max() / members) return bytes * members;
  const bool shrinks = operation == Operation::kReduceScatter || operation == Operation::kScatter;
  return shrinks ? bytes / members : bytes;
}

}  // namespace pipesim::viz
