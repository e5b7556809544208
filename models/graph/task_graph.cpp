#include "models/graph/task_graph.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "models/graph/parts.hpp"

namespace pipesim::models {
namespace {

void forget(std::vector<ProgramStep>& steps) {
  for (ProgramStep& step : steps) {
    step.place = {};
    forget(step.block);
  }
}

}  // namespace

void Group::index() {
  std::uint32_t end = 0;
  first_ = kNoIndex;
  for (const std::vector<std::uint32_t>& list : lists) {
    for (const std::uint32_t rank : list) {
      first_ = std::min(first_, rank);
      end = std::max(end, rank + 1);
    }
  }
  list_of_rank_.assign(end > first_ ? end - first_ : 0, kNoIndex);
  for (std::uint32_t list = 0; list < lists.size(); ++list) {
    for (const std::uint32_t rank : lists[list]) list_of_rank_[rank - first_] = list;
  }
}

RankSet Group::members() const {
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < list_of_rank_.size(); ++i) {
    if (list_of_rank_[i] != kNoIndex) all.push_back(first_ + i);
  }
  return RankSet(std::move(all));
}

TaskGraph::TaskGraph() = default;
TaskGraph::TaskGraph(const TaskGraph&) = default;
TaskGraph::TaskGraph(TaskGraph&&) noexcept = default;
TaskGraph& TaskGraph::operator=(const TaskGraph&) = default;
TaskGraph& TaskGraph::operator=(TaskGraph&&) noexcept = default;
TaskGraph::~TaskGraph() = default;
bool operator==(const TaskGraph&, const TaskGraph&) = default;

std::uint32_t TaskGraph::process_of(std::uint32_t rank) const {
  if (processes.group == kNoIndex) return rank;
  const Group& group = groups[processes.group];
  const std::uint32_t list = group.list_of(rank);
  return list == kNoIndex ? rank : group.lists[list].front();
}

Expr TaskGraph::hardware_queues() const {
  // Defaults of CUDA_DEVICE_MAX_CONNECTIONS and GPU_MAX_HW_QUEUES.
  constexpr std::int64_t kNvidiaQueues = 8;
  constexpr std::int64_t kAmdQueues = 4;
  if (device.hardware_queues) return *device.hardware_queues;
  const bool programs = std::any_of(actors.begin(), actors.end(), [](const ActorTemplate& actor) {
    return actor.step.has_value();
  });
  if (!programs) return Expr::constant(0);
  return Expr::constant(device.vendor == Vendor::kAmd ? kAmdQueues : kNvidiaQueues);
}

void collapse(std::vector<ProgramStep>& steps) {
  std::vector<std::uint32_t> list;
  for (const ProgramStep& step : steps) {
    if (step.actor == kNoIndex) return;
    list.push_back(step.actor);
  }
  std::vector<std::uint32_t> sorted = list;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end()) return;
  ProgramStep all;
  all.place = steps.front().place;
  all.list = std::move(list);
  steps.clear();
  steps.push_back(std::move(all));
}

OpName op_name(const ActorTemplate& actor, std::uint32_t k) {
  if (!actor.numbers) return {actor.name, k + 1};
  return {actor.name + std::to_string(actor.numbers->number(k)), 1};
}

std::uint32_t find_op(const ActorTemplate& actor, std::uint32_t ops, const OpName& op) {
  if (!actor.numbers) return op.name == actor.name ? op.number - 1 : kNoIndex;
  const std::string_view name = op.name;
  if (op.number != 1 || name.substr(0, actor.name.size()) != actor.name) return kNoIndex;
  const std::string_view digits = name.substr(actor.name.size());
  std::int64_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, number);
  if (error != std::errc() || rest != end) return kNoIndex;
  return actor.numbers->op(number, ops);
}

TaskGraph without_places(TaskGraph graph) {
  for_each_part(graph, [](auto& part, const RankSet&) {
    if constexpr (requires { part.place; }) part.place = {};
  });
  for (HostThread& thread : graph.threads) forget(thread.program);
  return graph;
}

std::string_view nccl_mode_name(NcclMode reading) {
  switch (reading) {
    case NcclMode::kContract:
      return "contract";
    case NcclMode::kReal:
      return "real";
    case NcclMode::kCold:
      break;
  }
  return "cold";
}

bool has_nccl_modes(const TaskGraph& graph) {
  return std::any_of(graph.actors.begin(), graph.actors.end(), [&](const ActorTemplate& actor) {
    return actor.step && std::any_of(actor.step->calls.begin(), actor.step->calls.end(),
                                     [&](const CallTemplate& call) {
                                       return !graph.communicators[call.communicator].on_host;
                                     });
  });
}

}  // namespace pipesim::models
