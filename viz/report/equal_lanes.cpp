#include "viz/report/equal_lanes.hpp"

#include <fmt/format.h>

#include "viz/report/wait_words.hpp"

namespace pipesim::viz {

std::string lane_key(const models::TaskGraph& graph, const models::Simulation& run,
                     const models::Lane& lane,
                     const std::function<bool(const models::StuckOp&)>& on_cycle) {
  const auto label = [&](sim::ActorId actor, std::uint32_t k) {
    return models::op_label(graph, run.lowered, actor, k);
  };
  std::string key = lane.name + (lane.is_thread ? "\nthread" : "\n");
  for (const models::Slice& slice : lane.slices) {
    key += fmt::format("\n{} {} {} {} {} {}", label(slice.actor, slice.k), slice.begin_ns,
                       slice.work_ns, slice.end_ns, slice.done, static_cast<int>(slice.kind));
  }
  for (const models::StuckOp& op : lane.stuck) {
    key += fmt::format("\n{} {}", label(op.actor, op.k), on_cycle(op));
    for (const models::Wait& wait : op.waits) key += edge_text(wait);
  }
  return key;
}

}  // namespace pipesim::viz
