#include "models/schedules/pipeline_links.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "models/graph/by_name.hpp"

namespace pipesim::models {
namespace {

// Launch queue length that holds a whole step, because a schedule does not consider queue limits.
constexpr std::int64_t kLaunchQueue = std::int64_t{1} << 30;
constexpr const char* kWorld = "world";  // name of the group of all ranks

}  // namespace

PipelineLinks::PipelineLinks(const Pipeline& pipeline, TaskGraph& graph)
    : pipeline_(pipeline),
      graph_(graph),
      first_row_(pipeline.ranks_of_rows().front()),
      given_groups_(graph.groups.size()) {
  for (std::uint32_t i = 0; i < graph.streams.size(); ++i) {
    streams_.try_emplace(graph.streams[i].name, i);
  }
}

std::uint32_t PipelineLinks::stream(const std::string& name) {
  const auto [known, is_new] =
      streams_.try_emplace(name, static_cast<std::uint32_t>(graph_.streams.size()));
  if (!is_new) return known->second;
  StreamTemplate made;
  made.name = name;
  made.place = pipeline_.place;
  made.launch_queue = Expr::constant(kLaunchQueue);
  graph_.streams.push_back(std::move(made));
  return known->second;
}

std::uint32_t PipelineLinks::over(const std::string& name) {
  std::uint32_t index = index_of(graph_.communicators, name);
  if (index == kNoIndex) index = add_communicator(index_of(graph_.groups, name));
  return with_stream(index);
}

std::uint32_t PipelineLinks::between(std::uint32_t from, std::uint32_t to, bool forward) {
  std::string name;
  std::vector<std::uint32_t> rows;
  switch (pipeline_.messages) {
    case MessageModel::kDir:
    case MessageModel::kEdge:
      rows = {from, to};
      name = std::to_string(from) + " to " + std::to_string(to);
      break;
    case MessageModel::kPair:
      rows = {std::min(from, to), std::max(from, to)};
      name = std::to_string(rows[0]) + " and " + std::to_string(rows[1]);
      break;
    case MessageModel::kDirection:
      name = forward ? "forward" : "backward";
      break;
    case MessageModel::kPg:
    case MessageModel::kSync:
    case MessageModel::kBatch:
      name = "pipeline";
      break;
    case MessageModel::kOverlap:
      // In Megatron-LM, the second of two pipeline ranks sends over the group WORLD.
      name = pipeline_.schedule.ranks.size() == 2 && from == 1 ? kWorld : "pipeline";
      break;
  }
  const auto [found, is_new] = communicators_.try_emplace(name, kNoIndex);
  if (!is_new) return found->second;
  if (rows.empty()) {
    rows.resize(pipeline_.schedule.ranks.size());
    std::iota(rows.begin(), rows.end(), 0U);
  }
  Group group;
  group.name = std::move(name);
  group.place = pipeline_.place;
  group.lists = lists_of(rows);
  if (group.name == kWorld) {
    group.lists.resize(1);
    group.lists.front().resize(graph_.ranks);
    std::iota(group.lists.front().begin(), group.lists.front().end(), 0U);
  }
  found->second = communicator_of_messages(std::move(group));
  return found->second;
}

// Gives the calls of `communicator` a stream if they have none, and returns `communicator`.
std::uint32_t PipelineLinks::with_stream(std::uint32_t communicator) {
  CommunicatorTemplate& used = graph_.communicators[communicator];
  if (used.stream == kNoIndex) used.stream = stream(calls_stream(used.name));
  return communicator;
}

std::uint32_t PipelineLinks::add_communicator(std::uint32_t group) {
  CommunicatorTemplate made;
  made.name = graph_.groups[group].name;
  made.place = pipeline_.place;
  made.group = group;
  made.init = graph_.init;
  graph_.communicators.push_back(std::move(made));
  return static_cast<std::uint32_t>(graph_.communicators.size() - 1);
}

// Returns one list per pipeline, with the ranks that run `rows`.
std::vector<std::vector<std::uint32_t>> PipelineLinks::lists_of(
    const std::vector<std::uint32_t>& rows) const {
  std::vector<std::vector<std::uint32_t>> lists;
  for (const std::uint32_t first : first_row_) {
    std::vector<std::uint32_t>& list = lists.emplace_back();
    for (const std::uint32_t row : rows) list.push_back(first + row * pipeline_.stride);
  }
  return lists;
}

// Returns the communicator of `group`, and makes the communicator if it is missing. A job with more
// parallel dimensions can already have a communicator of the group `pipeline`.
std::uint32_t PipelineLinks::communicator_of_messages(Group group) {
  const auto named = [&](const auto& item) { return item.name == group.name; };
  const auto given = graph_.groups.begin() + static_cast<std::ptrdiff_t>(given_groups_);
  const auto known = std::find_if(graph_.groups.begin(), given, [&](const Group& g) {
    return named(g) && g.lists == group.lists;
  });
  auto index = static_cast<std::uint32_t>(known - graph_.groups.begin());
  if (known != given) {
    for (std::uint32_t i = 0; i < graph_.communicators.size(); ++i) {
      const CommunicatorTemplate& other = graph_.communicators[i];
      if (named(other) && other.group == index) return with_stream(i);
    }
  } else {
    group.index();
    index = static_cast<std::uint32_t>(graph_.groups.size());
    graph_.groups.push_back(std::move(group));
  }
  index = with_stream(add_communicator(index));
  if (pipeline_.messages == MessageModel::kDir) {
    graph_.communicators[index].eager_bytes = std::numeric_limits<std::int64_t>::max();
  }
  return index;
}

}  // namespace pipesim::models
