// The timeline of a run, lane by lane, and the final waits of each lane: the data for drawings,
// traces and HTML pages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/graph/rank_set.hpp"
#include "models/graph/recorded_parts.hpp"
#include "models/graph/task_graph.hpp"
#include "models/result/simulation.hpp"

namespace pipesim::models {

/// The kind of work that drawings show for an op.
enum class WorkKind : std::uint8_t {
  kCompute,
  kForward,
  kBackward,    // in a schedule: the full backward, or only its input gradient
  kWeightGrad,  // only the weight gradient
  kOverlapped,  // a forward and a backward at the same time
  kCollective,
  kMessage,  // sends, recvs and copies
  kBuffer,
  kControl,  // order without work: events, ticks, zeros
  kHost,     // host steps
};
inline constexpr int kWorkKindCount = 10;

/// Returns the kind of each actor of a plan. A phase called "forward..." or "backward..." sets the
/// kind of computing actors. The action of a schedule also sets the kind of its actors.
sim::IdVector<sim::ActorId, WorkKind> work_kinds(const TaskGraph& graph, const Lowered& lowered);

/// Returns the kind of a template's ops, without regard to the actions of a schedule.
WorkKind work_kind(const TaskGraph& graph, const ActorTemplate& actor);

/// An op in its lane.
struct Slice {
  sim::ActorId actor;
  std::uint32_t k = 0;  // index of the op, from 0
  WorkKind kind = WorkKind::kCompute;
  bool done = false;
  std::int64_t begin_ns = 0;  // start of the op; in the lane of a thread, entry of the op
  std::int64_t work_ns = 0;   // end of waiting and start of work; `end_ns` if the op never worked
  // End of the op; if unfinished, end of the timeline, or death of the rank.
  std::int64_t end_ns = 0;
  bool dies = false;  // whether the rank died in the op before the run was quiescent
};

/// An op that waits at the end of a quiescent run.
struct StuckOp {
  sim::ActorId actor;
  std::uint32_t k = 0;
  bool on_cycle = false;
  std::vector<Wait> waits;  // not empty; in the order of WaitGraph::edges
};

/// A stream or host thread of a rank.
struct Lane {
  std::uint32_t rank = 0;
  bool is_thread = false;
  std::uint32_t id = 0;  // id of the stream or thread in the plan
  std::string name;
  std::vector<Slice> slices;   // in order, without overlap
  std::vector<StuckOp> stuck;  // in display order: ops on the cycle first, then by progress
};

/// The time of a part of a recorded rank's training step.
struct PartSpan {
  std::uint32_t rank = 0;
  RecordedPart part;
  bool done = false;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

struct Timeline {
  std::int64_t end_ns = 0;        // end of the last progress and of all slices
  bool quiescent = false;         // whether the run is quiescent with work left
  std::vector<Lane> lanes;        // sorted by rank; threads before streams; empty lanes are omitted
  std::vector<PartSpan> parts{};  // of a recorded job; sorted by rank and begin, without overlap
};

struct TimelineOptions {
  std::optional<RankSet> ranks;  // ranks to show; none: all
  bool all_of_threads = false;   // whether to include launches that take a thread no time
};

/// Builds the timeline. The run must have kept the times of its ops.
Timeline timeline(const TaskGraph& graph, const Simulation& run,
                  const TimelineOptions& options = {});

/// A dependency between ops of different ranks.
struct Flow {
  enum class Kind : std::uint8_t { kMessage, kCollective, kRegister };
  Kind kind = Kind::kMessage;
  sim::ActorId from;
  std::uint32_t from_k = 0;
  sim::ActorId to;
  std::uint32_t to_k = 0;
};

/// Returns the flows between completed ops. A flow leads from a send to its recv (matched by order,
/// docs/reference/rules.md 9.5), from the last member of a collective to start to all other
/// members, or from the producer of a register to a consumer on another rank. The run must have
/// kept the times of its ops.
std::vector<Flow> flows(const Simulation& run);

/// Returns the name of an op in drawings: "0F3", "B0#1". Omits the number "#1" if the actor has a
/// single op, or if the names of its ops end with numbers.
std::string op_label(const TaskGraph& graph, const Lowered& lowered, sim::ActorId id,
                     std::uint32_t k);

}  // namespace pipesim::models
