#include "models/result/device_times.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace pipesim::models {

using sim::ActorId;
using sim::kNever;
using sim::OpTimes;

bool DeviceTimes::on_device(ActorId id) const {
  const sim::Actor& actor = plan_.actors[id];
  if (!actor.stream.valid() || !sim::needs_slot(actor.role)) return false;
  const std::uint32_t stream = lowered_.stream_template[actor.stream];
  return stream == kNoIndex || !graph_.streams[stream].on_host;
}

// Returns the duration of an actor's longest chain of calls. The stages of a chain run one after
// another.
std::int64_t DeviceTimes::longest_calls(ActorId id) const {
  const sim::IdRange<sim::CallId> calls = plan_.calls_of(id);
  if (calls.size() == 1) return plan_.calls[*calls.begin()].takes.ns;
  std::map<std::pair<sim::ChainId, std::uint32_t>, std::int64_t> stages;
  for (const sim::CallId call : calls) {
    const sim::Call& of = plan_.calls[call];
    std::int64_t& stage = stages[{of.chain, of.stage}];
    stage = std::max(stage, of.takes.ns);
  }
  // Calls without a chain count as one chain with a single stage.
  std::map<sim::ChainId, std::int64_t> chains;
  for (const auto& [stage, takes] : stages) chains[stage.first] += takes;
  std::int64_t longest = 0;
  for (const auto& [chain, takes] : chains) longest = std::max(longest, takes);
  return longest;
}

Interval DeviceTimes::work_of_collective(const sim::Collective& all, std::uint32_t k,
                                         Interval own) const {
  for (std::uint32_t i = all.members; i < all.members_end; ++i) {
    const ActorId peer = plan_.members[i].actor;
    if (!peer.valid() || k >= plan_.actors[peer].ops) return {};
    const sim::Time start = outcome_.op_times.of(peer, k).start;
    if (start == kNever) return {};
    own.begin_ns = std::max(own.begin_ns, start.ns);
  }
  return own;
}

Interval DeviceTimes::work(ActorId id, std::uint32_t k) const {
  const OpTimes& of = outcome_.op_times.of(id, k);
  const std::int64_t last = outcome_.last_progress.ns;
  if (of.start == kNever) return {};
  const std::int64_t end = of.end == kNever ? last : std::min(of.end.ns, last);
  const sim::Actor& actor = plan_.actors[id];
  if (actor.role == sim::Role::kCalls) {
    if (of.end == kNever) return {};
    return {std::max(of.start.ns, of.end.ns - longest_calls(id)), end};
  }
  if (!actor.collective.valid()) return {of.start.ns, end};
  return work_of_collective(plan_.collectives[actor.collective], k, {of.start.ns, end});
}

}  // namespace pipesim::models
