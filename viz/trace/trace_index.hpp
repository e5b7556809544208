// What a trace needs to know of a run, looked up once for all of its files.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/explain/simulation.hpp"
#include "models/graph/task_graph.hpp"
#include "models/lowering/names.hpp"
#include "models/measure/device_times.hpp"
#include "models/measure/timeline.hpp"
#include "viz/trace/process_groups.hpp"

namespace pipesim::viz {

/// An act of a plan; without a valid actor: none.
struct Act {
  sim::ActorId actor;
  std::uint32_t k = 0;
};

/// That a thread launched an act in no time, which a timeline does not show.
struct Launch {
  std::int64_t ns = 0;
  Act act;
};

/// Where a slice is drawn: the rank, and a number for the stream or thread.
struct Track {
  std::uint32_t pid = 0;
  std::uint32_t tid = 0;
};

/// See the head of this file. Takes 16 bytes for each act of the plan. All that it is given must
/// outlive it; `timeline` is of all ranks.
class TraceIndex {
 public:
  /// Streams of a rank are numbered from 1 (HTA counts only what is above 0 as one of a device),
  /// its host threads from here.
  static constexpr std::uint32_t kFirstStream = 1;
  static constexpr std::uint32_t kFirstThread = 1'000'000;

  TraceIndex(const models::TaskGraph& graph, const models::Simulation& run,
             const models::Timeline& timeline, const std::vector<models::Flow>& flows);

  const models::TaskGraph& graph() const { return graph_; }
  const sim::Plan& plan() const { return run_.lowered.plan; }
  const models::Simulation& run() const { return run_; }
  const models::Timeline& timeline() const { return timeline_; }
  const std::vector<models::Flow>& flows() const { return flows_; }

  /// By rank, threads before streams: those of the timeline, and empty ones of threads that only
  /// launch. Each rank has at least one thread.
  const std::vector<const models::Lane*>& lanes() const { return lanes_; }

  /// What a thread launched in no time, in the order of time.
  const std::vector<Launch>& launches(const models::Lane& of_thread) const {
    return launches_[of_thread.id];
  }
  const models::Names& names() const { return names_; }
  const ProcessGroups& groups() const { return groups_; }
  bool on_device(sim::ActorId id) const { return device_.on_device(id); }

  /// Of what never ends. It is drawn a little beyond the moment after which nothing happened any
  /// more: most of it began to wait only then.
  std::int64_t end_ns() const { return end_ns_; }
  std::int64_t end_of(const models::Slice& slice) const {
    const bool ends = slice.done || slice.dies || slice.end_ns != timeline_.end_ns;
    return ends ? slice.end_ns : end_ns_;
  }

  std::string label(sim::ActorId id, std::uint32_t k) const {
    return models::act_label(graph_, run_.lowered, id, k);
  }

  Track track(const models::Lane& lane) const {
    return {lane.rank, lane.is_thread ? tid_of_thread_[lane.id] : tid_of_stream_[lane.id]};
  }
  Track stream_track(sim::ActorId id) const {
    const sim::Actor& actor = plan().actors[id];
    return {actor.rank.value, tid_of_stream_[actor.stream.value]};
  }

  /// Of an act, and of its launch: unique in a file.
  std::uint64_t correlation(sim::ActorId id, std::uint32_t k) const { return index(id, k) + 1; }

  /// An act on its stream; null, if it never started.
  const models::Slice* slice(sim::ActorId id, std::uint32_t k) const {
    return slice_of_[index(id, k)];
  }

  /// Whom an act met: the other end of its message, or who came last to its collective.
  const Act& peer(sim::ActorId id, std::uint32_t k) const { return peer_of_[index(id, k)]; }

  /// Null, if the act does not wait for ever.
  const models::StuckAct* stuck(sim::ActorId id, std::uint32_t k) const;

 private:
  std::uint64_t index(sim::ActorId id, std::uint32_t k) const { return first_act_[id] + k; }
  void number_lanes();
  void number_acts();
  void collect_launches();
  void collect_lanes();
  void set_peer(const Act& of, const Act& peer);

  const models::TaskGraph& graph_;
  const models::Simulation& run_;
  const models::Timeline& timeline_;
  const std::vector<models::Flow>& flows_;
  models::Names names_;
  models::DeviceTimes device_;
  ProcessGroups groups_;
  std::int64_t end_ns_ = 0;
  std::vector<models::Lane> bare_lanes_;  // of threads of which the timeline has none
  std::vector<const models::Lane*> lanes_;
  std::vector<std::vector<Launch>> launches_;  // by thread
  std::vector<std::uint32_t> tid_of_thread_;
  std::vector<std::uint32_t> tid_of_stream_;
  sim::IdVector<sim::ActorId, std::uint64_t> first_act_;
  std::vector<const models::Slice*> slice_of_;  // by index()
  std::vector<Act> peer_of_;
  std::vector<std::pair<std::uint64_t, const models::StuckAct*>> stuck_;  // by index()
};

}  // namespace pipesim::viz
