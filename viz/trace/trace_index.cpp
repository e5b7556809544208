#include "viz/trace/trace_index.hpp"

#include <algorithm>
#include <limits>

namespace pipesim::viz {

using models::Flow;
using models::Lane;
using models::Slice;
using models::StuckAct;
using sim::ActorId;

TraceIndex::TraceIndex(const models::TaskGraph& graph, const models::Simulation& run,
                       const models::Timeline& timeline, const std::vector<Flow>& flows)
    : graph_(graph),
      run_(run),
      timeline_(timeline),
      flows_(flows),
      names_(graph, run.lowered),
      device_(graph, run.lowered, run.outcome),
      groups_(graph),
      end_ns_(timeline.end_ns) {
  const std::int64_t room = std::numeric_limits<std::int64_t>::max() - end_ns_;
  if (timeline.at_rest) end_ns_ += std::min(room, std::max<std::int64_t>(end_ns_ / 10, 1000));
  number_lanes();
  number_acts();
}

void TraceIndex::number_lanes() {
  std::vector<std::uint32_t> threads(plan().rank_count, kFirstThread);
  for (const sim::ThreadId id : ids_of(plan().threads)) {
    tid_of_thread_.push_back(threads[plan().threads[id].rank.value]++);
  }
  std::vector<std::uint32_t> streams(plan().rank_count, 0);
  for (const sim::StreamId id : ids_of(plan().streams)) {
    tid_of_stream_.push_back(streams[plan().streams[id].rank.value]++);
  }
}

void TraceIndex::number_acts() {
  std::uint64_t count = 0;
  first_act_ = sim::IdVector<ActorId, std::uint64_t>(plan().actors.size());
  for (const ActorId id : ids_of(plan().actors)) {
    first_act_[id] = count;
    count += plan().actors[id].acts;
  }
  slice_of_.resize(count, nullptr);
  peer_of_.resize(count);
  for (const Lane& lane : timeline_.lanes) {
    for (const StuckAct& act : lane.stuck) stuck_.emplace_back(index(act.actor, act.k), &act);
    if (lane.is_thread) continue;
    for (const Slice& slice : lane.slices) slice_of_[index(slice.actor, slice.k)] = &slice;
  }
  std::sort(stuck_.begin(), stuck_.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const Flow& flow : flows_) {
    if (flow.kind == Flow::Kind::kRegister) continue;
    set_peer({flow.to, flow.to_k}, {flow.from, flow.from_k});
    if (flow.kind == Flow::Kind::kMessage) set_peer({flow.from, flow.from_k}, {flow.to, flow.to_k});
  }
}

void TraceIndex::set_peer(const Act& of, const Act& peer) {
  Act& place = peer_of_[index(of.actor, of.k)];
  if (!place.actor.valid()) place = peer;
}

const StuckAct* TraceIndex::stuck(ActorId id, std::uint32_t k) const {
  const auto found = std::lower_bound(
      stuck_.begin(), stuck_.end(), index(id, k),
      [](const auto& entry, std::uint64_t wanted) { return entry.first < wanted; });
  return found != stuck_.end() && found->first == index(id, k) ? found->second : nullptr;
}

}  // namespace pipesim::viz
