// Rules about the streams of ops that wait for peers.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "features/lint/lint_rules.hpp"

namespace pipesim::models {
namespace {

using sim::ActorId;
using sim::CallId;
using sim::StreamId;

class StreamLint : PlanLint {
 public:
  using PlanLint::PlanLint;

  void run() {
    for (const ActorId id : ids_of(plan_.actors)) look_at(id);
    for (const auto& [group_list, ranks] : streams_of_) check_list(group_list.first, ranks);
    for (const sim::DeviceId id : ids_of(plan_.devices)) check_slots(id);
  }

 private:
  // The streams on which one rank runs collectives of a group, each with its first collective.
  using Streams = std::map<std::string, ActorId>;

  void look_at(ActorId id);
  void add_collective(ActorId id, std::uint32_t group);
  void check_list(std::uint32_t group, const std::map<std::uint32_t, Streams>& ranks);
  void check_slots(sim::DeviceId id);
  std::uint32_t size_of(sim::CommunicatorId id) const {
    return plan_.communicators[id].ranks_end - plan_.communicators[id].ranks;
  }

  // The streams of each rank, by pair of group and list.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::map<std::uint32_t, Streams>> streams_of_;
  std::map<std::uint32_t, ActorId> waiting_;  // by stream: its first op that waits for peers
};

std::string quoted_list(const std::vector<std::string>& names) {
  return fmt::format("'{}'", fmt::join(names, "', '"));
}

void StreamLint::look_at(ActorId id) {
  const sim::Actor& actor = plan_.actors[id];
  if (!actor.stream.valid()) return;
  const ActorTemplate& from = names_.actor(id);
  if (actor.collective.valid() && size_of(plan_.collectives[actor.collective].communicator) > 1) {
    add_collective(id, from.collective->group);
    if (!actor.blocking) waiting_.try_emplace(actor.stream.value, id);
  }
  std::size_t index = 0;
  for (const CallId call_id : plan_.calls_of(id)) {
    const CallTemplate& call = from.step->calls[index++];
    if (size_of(plan_.calls[call_id].communicator) < 2) continue;
    if (call.kind == sim::CallKind::kCollective) {
      add_collective(id, graph_.communicators[call.communicator].group);
    }
    if (!actor.blocking) waiting_.try_emplace(actor.stream.value, id);
  }
}

// Adds the stream of a collective. Skips host calls: their stream in the plan is not a device
// stream.
void StreamLint::add_collective(ActorId id, std::uint32_t group) {
  const sim::Actor& actor = plan_.actors[id];
  const std::uint32_t stream = lowered_.stream_template[actor.stream];
  if (stream != kNoIndex && graph_.streams[stream].on_host) return;
  const std::uint32_t rank = actor.rank.value;
  streams_of_[{group, graph_.groups[group].list_of(rank)}][rank].try_emplace(names_.stream_of(id),
                                                                             id);
}

// Reports the ranks whose collectives of the group use other streams than on the first rank of the
// list.
void StreamLint::check_list(std::uint32_t group, const std::map<std::uint32_t, Streams>& ranks) {
  const auto names = [](const Streams& streams) {
    std::vector<std::string> result;
    for (const auto& [name, first] : streams) result.push_back(name);
    return result;
  };
  const std::uint32_t first_rank = ranks.begin()->first;
  const Streams& first_streams = ranks.begin()->second;
  const std::vector<std::string> expected = names(first_streams);
  std::vector<std::uint32_t> others;
  for (const auto& [rank, streams] : ranks) {
    if (names(streams) != expected) others.push_back(rank);
  }
  if (others.empty()) return;
  const Streams& found = ranks.at(others.front());
  const auto differs = std::find_if(found.begin(), found.end(), [&](const auto& stream) {
    return first_streams.count(stream.first) == 0;
  });
  const ActorId shown = differs == found.end() ? found.begin()->second : differs->second;
  findings_.push_back(
      {.rule = kCollectiveStreams,
       .place = names_.actor(shown).place,
       .message = fmt::format("collectives of group '{}' are on stream {}, and on rank {} on {}",
                              graph_.groups[group].name, quoted_list(names(found)), first_rank,
                              quoted_list(expected)),
       .ops = {names_.name(shown)},
       .ranks = RankSet(std::move(others)),
       .why =
           "different work precedes them on each rank, so a peer may wait for an op that is queued "
           "behind another rank's wait",
       .advice = "put the collectives of a group on the same stream everywhere"});
}

// Reports a device with more waiting streams than kernel slots. Timing then decides which streams
// start, and two ranks can choose differently.
void StreamLint::check_slots(sim::DeviceId id) {
  const sim::Device& device = plan_.devices[id];
  if (device.resident == 0 || device.ordered() || graph_.device.sms != Expr()) return;
  std::vector<ActorId> waiting;
  for (std::uint32_t i = device.streams; i < device.streams_end; ++i) {
    const auto found = waiting_.find(plan_.device_streams[i].value);
    if (found != waiting_.end()) waiting.push_back(found->second);
  }
  if (waiting.size() <= device.resident) return;
  std::sort(waiting.begin(), waiting.end());
  const ActorId shown = waiting[device.resident];
  findings_.push_back(
      {.rule = kKernelSlots,
       .place = names_.actor(shown).place,
       .message =
           fmt::format("{} streams have calls that wait for peers, and a device runs {} at a time",
                       waiting.size(), device.resident),
       .ops = {names_.name(shown)},
       .ranks = RankSet({device.rank.value}),
       .why = fmt::format(
           "nothing orders '{}' and '{}' on their streams: two ranks may start them in opposite "
           "orders, and each then spins in the kernel slot that the other needs",
           names_.name(waiting[0]), names_.name(shown)),
       .advice =
           "order them with an event, or let the device start them in launch order (launch_order: "
           "implicit)"});
}

}  // namespace

void lint_streams(const TaskGraph& graph, const Lowered& lowered,
                  std::vector<LintFinding>& findings) {
  StreamLint(graph, lowered, findings).run();
}

}  // namespace pipesim::models
