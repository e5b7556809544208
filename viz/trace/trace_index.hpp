// Lookup tables over a run, built once for all of its trace files.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/graph/task_graph.hpp"
#include "models/lowering/names.hpp"
#include "models/result/device_times.hpp"
#include "models/result/simulation.hpp"
#include "models/result/timeline.hpp"
#include "viz/trace/process_groups.hpp"

namespace pipesim::viz {

/// An op of a plan; an invalid `actor` means no op.
struct Op {
  sim::ActorId actor;
  std::uint32_t k = 0;
};

/// A launch without duration, which a timeline does not show.
struct Launch {
  std::int64_t ns = 0;
  Op op;
};

/// Track of a slice: `pid` is the rank, and `tid` is a number for the stream or thread.
struct Track {
  std::uint32_t pid = 0;
  std::uint32_t tid = 0;
};

/// Lookup tables (see the head of this file). Uses 16 bytes per op of the plan. All arguments must
/// outlive it; `timeline` has all ranks.
class TraceIndex {
 public:
  /// Track numbers of a rank's first stream and of its first host thread. HTA treats only numbers
  /// above 0 as streams of a device.
  static constexpr std::uint32_t kFirstStream = 1;
  static constexpr std::uint32_t kFirstThread = 1'000'000;

  TraceIndex(const models::TaskGraph& graph, const models::Simulation& run,
             const models::Timeline& timeline, const std::vector<models::Flow>& flows);

  const models::TaskGraph& graph() const { return graph_; }
  const sim::Plan& plan() const { return run_.lowered.plan; }
  const models::Simulation& run() const { return run_; }
  const models::Timeline& timeline() const { return timeline_; }
  const std::vector<models::Flow>& flows() const { return flows_; }

  /// Returns lanes sorted by rank, threads before streams. Threads that only launch have empty
  /// lanes, which the timeline lacks. Each rank has at least one thread.
  const std::vector<const models::Lane*>& lanes() const { return lanes_; }

  /// Returns a thread's launches without duration, sorted by time.
  const std::vector<Launch>& launches(const models::Lane& of_thread) const {
    return launches_[of_thread.id];
  }
  const models::Names& names() const { return names_; }
  const ProcessGroups& groups() const { return groups_; }
  bool on_device(sim::ActorId id) const { return device_.on_device(id); }

  /// Returns the end of slices that never end: a little after the last progress, since most waits
  /// begin only then.
  std::int64_t end_ns() const { return end_ns_; }
  std::int64_t end_of(const models::Slice& slice) const {
    const bool ends = slice.done || slice.dies || slice.end_ns != timeline_.end_ns;
    return ends ? slice.end_ns : end_ns_;
  }

  std::string label(sim::ActorId id, std::uint32_t k) const {
    return models::op_label(graph_, run_.lowered, id, k);
  }

  Track track(const models::Lane& lane) const {
    return {lane.rank, lane.is_thread ? tid_of_thread_[lane.id] : tid_of_stream_[lane.id]};
  }
  Track stream_track(sim::ActorId id) const {
    const sim::Actor& actor = plan().actors[id];
    return {actor.rank.value, tid_of_stream_[actor.stream.value]};
  }

  /// Returns a number for an op and its launch, unique in a file.
  std::uint64_t correlation(sim::ActorId id, std::uint32_t k) const { return index(id, k) + 1; }

  /// Returns the slice of an op on its stream; null if the op never started.
  const models::Slice* slice(sim::ActorId id, std::uint32_t k) const {
    return slice_of_[index(id, k)];
  }

  /// Returns the matching op of a send or recv, or the last rank's op of a collective.
  const Op& peer(sim::ActorId id, std::uint32_t k) const { return peer_of_[index(id, k)]; }

  /// Returns the wait of an op that is stuck forever, else null.
  const models::StuckOp* stuck(sim::ActorId id, std::uint32_t k) const;

 private:
  std::uint64_t index(sim::ActorId id, std::uint32_t k) const { return first_op_[id] + k; }
  void number_lanes();
  void number_ops();
  void collect_launches();
  void collect_lanes();
  void set_peer(const Op& of, const Op& peer);

  const models::TaskGraph& graph_;
  const models::Simulation& run_;
  const models::Timeline& timeline_;
  const std::vector<models::Flow>& flows_;
  models::Names names_;
  models::DeviceTimes device_;
  ProcessGroups groups_;
  std::int64_t end_ns_ = 0;
  std::vector<models::Lane> bare_lanes_;  // threads without a lane in the timeline
  std::vector<const models::Lane*> lanes_;
  std::vector<std::vector<Launch>> launches_;  // indexed by thread
  std::vector<std::uint32_t> tid_of_thread_;
  std::vector<std::uint32_t> tid_of_stream_;
  sim::IdVector<sim::ActorId, std::uint64_t> first_op_;
  std::vector<const models::Slice*> slice_of_;  // indexed by index()
  std::vector<Op> peer_of_;
  // Keyed and sorted by index().
  std::vector<std::pair<std::uint64_t, const models::StuckOp*>> stuck_;
};

}  // namespace pipesim::viz
