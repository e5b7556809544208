#include "models/lowering/call_times.hpp"

#include <vector>

namespace pipesim::models {

std::optional<std::int64_t> CallTimes::of_collective(Operation operation,
                                                     std::optional<Algorithm> algorithm,
                                                     std::int64_t bytes, std::uint32_t group,
                                                     std::uint32_t communicator, std::uint32_t rank,
                                                     std::string* why) {
  if (!is_collective(operation)) return 0;  // split and destroy move no data
  const CommunicatorTemplate* shared =
      communicator == kNoIndex ? nullptr : &graph_.communicators[communicator];
  const std::uint32_t list = graph_.groups[group].list_of(rank);
  const auto [known, is_new] = routes_.try_emplace({group, communicator, list});
  if (is_new) {
    const std::vector<std::uint32_t> over =
        shared == nullptr ? std::vector<std::uint32_t>() : shared->over;
    const auto links = route(*graph_.cluster, graph_.groups[group].lists[list], over, why);
    if (!links) {
      routes_.erase(known);
      return std::nullopt;
    }
    known->second = *links;
  }
  if (!algorithm && shared != nullptr) algorithm = shared->algorithm;
  const auto time = collective_time(operation, algorithm.value_or(graph_.cluster->algorithm), bytes,
                                    known->second);
  if (!time && why != nullptr) *why = "the collective takes longer than 292 years";
  return time;
}

std::optional<std::int64_t> CallTimes::of(const CollectiveTemplate& collective, std::uint32_t rank,
                                          std::string* why) {
  if (collective.bytes < 0) {
    if (why != nullptr) *why = "the size is " + std::to_string(collective.bytes) + " bytes";
    return std::nullopt;
  }
  return of_collective(collective.operation, collective.algorithm, collective.bytes,
                       collective.group, collective.communicator, rank, why);
}

std::optional<std::int64_t> CallTimes::of(const CallTemplate& call, std::uint32_t rank,
                                          const sim::CallSpec& spec, std::string* why) {
  const CommunicatorTemplate& communicator = graph_.communicators[call.communicator];
  if (communicator.on_host && communicator.over.empty()) return 0;
  const std::int64_t bytes = spec.signature.count;
  if (call.kind == sim::CallKind::kCollective) {
    return of_collective(call.operation, call.algorithm, bytes, communicator.group,
                         call.communicator, rank, why);
  }
  if (!call.peer) return 0;
  const auto time =
      message_time(*graph_.cluster, rank, spec.peer.value, bytes, communicator.over, why);
  if (!time) return std::nullopt;
  if (!spec.buffered) return time->latency_ns + time->transfer_ns;
  return call.kind == sim::CallKind::kSend ? time->transfer_ns : time->latency_ns;
}

}  // namespace pipesim::models
