#include "viz/trace/trace_index.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace pipesim::viz {

using models::Flow;
using models::Lane;
using models::Slice;
using models::StuckOp;
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
  const std::int64_t space = std::numeric_limits<std::int64_t>::max() - end_ns_;
  if (timeline.quiescent) end_ns_ += std::min(space, std::max<std::int64_t>(end_ns_ / 10, 1000));
  number_lanes();
  number_ops();
  collect_launches();
  collect_lanes();
}

void TraceIndex::number_lanes() {
  std::vector<std::uint32_t> threads(plan().rank_count, kFirstThread);
  for (const sim::ThreadId id : ids_of(plan().threads)) {
    tid_of_thread_.push_back(threads[plan().threads[id].rank.value]++);
  }
  std::vector<std::uint32_t> streams(plan().rank_count, kFirstStream);
  for (const sim::StreamId id : ids_of(plan().streams)) {
    tid_of_stream_.push_back(streams[plan().streams[id].rank.value]++);
  }
}

void TraceIndex::number_ops() {
  std::uint64_t count = 0;
  first_op_ = sim::IdVector<ActorId, std::uint64_t>(plan().actors.size());
  for (const ActorId id : ids_of(plan().actors)) {
    first_op_[id] = count;
    count += plan().actors[id].ops;
  }
  slice_of_.resize(count, nullptr);
  peer_of_.resize(count);
  for (const Lane& lane : timeline_.lanes) {
    for (const StuckOp& op : lane.stuck) stuck_.emplace_back(index(op.actor, op.k), &op);
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

void TraceIndex::collect_launches() {
  launches_.resize(plan().threads.size());
  for (const ActorId id : ids_of(plan().actors)) {
    if (!on_device(id)) continue;
    const sim::Actor& actor = plan().actors[id];
    for (std::uint32_t k = 0; k < actor.ops; ++k) {
      if (slice(id, k) == nullptr) continue;
      const sim::OpTimes& times = run_.outcome.op_times.of(id, k);
      const sim::Time back = actor.blocking ? times.end : times.launch;
      // Skips launches with a slice in the timeline, and launches that never happened.
      if (times.enter == sim::kNever || back != times.enter) continue;
      launches_[actor.thread.value].push_back({times.enter.ns, {id, k}});
    }
  }
  for (std::vector<Launch>& of_thread : launches_) {
    std::stable_sort(of_thread.begin(), of_thread.end(),
                     [](const Launch& a, const Launch& b) { return a.ns < b.ns; });
  }
}

void TraceIndex::collect_lanes() {
  std::vector<std::uint8_t> known(plan().threads.size(), 0);
  for (const Lane& lane : timeline_.lanes) {
    if (lane.is_thread) known[lane.id] = 1;
  }
  std::vector<std::uint8_t> has_thread(plan().rank_count, 0);
  for (const sim::ThreadId id : ids_of(plan().threads)) {
    const std::uint32_t rank = plan().threads[id].rank.value;
    const bool is_first = has_thread[rank] == 0;
    has_thread[rank] = 1;
    if (known[id.value] != 0 || (launches_[id.value].empty() && !is_first)) continue;
    Lane lane;
    lane.rank = rank;
    lane.is_thread = true;
    lane.id = id.value;
    lane.name = names_.thread(id);
    bare_lanes_.push_back(std::move(lane));
  }
  for (const Lane& lane : timeline_.lanes) lanes_.push_back(&lane);
  for (const Lane& lane : bare_lanes_) lanes_.push_back(&lane);
  std::sort(lanes_.begin(), lanes_.end(), [](const Lane* a, const Lane* b) {
    return std::tuple(a->rank, !a->is_thread, a->id) < std::tuple(b->rank, !b->is_thread, b->id);
  });
}

void TraceIndex::set_peer(const Op& of, const Op& peer) {
  Op& place = peer_of_[index(of.actor, of.k)];
  if (!place.actor.valid()) place = peer;
}

const StuckOp* TraceIndex::stuck(ActorId id, std::uint32_t k) const {
  const auto found = std::lower_bound(
      stuck_.begin(), stuck_.end(), index(id, k),
      [](const auto& entry, std::uint64_t wanted) { return entry.first < wanted; });
  return found != stuck_.end() && found->first == index(id, k) ? found->second : nullptr;
}

}  // namespace pipesim::viz
