// When acts ran, lane by lane, and what each lane waits for at the end: what pictures of time,
// traces and pages are made from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/explain/simulation.hpp"
#include "models/graph/rank_set.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::models {

/// What people see an act as.
enum class WorkKind : std::uint8_t {
  kCompute,
  kForward,
  kBackward,    // of a schedule: all of it, or of the input
  kWeightGrad,  // the gradient of the weights alone
  kOverlapped,  // a forward and a backward at the same time
  kCollective,
  kMessage,  // sends, receives, copies
  kBuffer,
  kControl,  // order without work: events, ticks, zeros
  kHost,     // a step of the host
};
inline constexpr int kWorkKindCount = 10;

/// Of each actor of a plan. A phase called "forward..." or "backward..." says it of computing;
/// so does the action of a schedule.
sim::IdVector<sim::ActorId, WorkKind> work_kinds(const TaskGraph& graph, const Lowered& lowered);

/// The same of a template, as far as the template alone says it.
WorkKind work_kind(const TaskGraph& graph, const ActorTemplate& actor);

/// An act in its lane.
struct Slice {
  sim::ActorId actor;
  std::uint32_t k = 0;  // from 0
  WorkKind kind = WorkKind::kCompute;
  bool done = false;
  std::int64_t begin_ns = 0;  // it started; in the lane of a thread: it was entered
  std::int64_t work_ns = 0;   // until then it waited; end_ns if it never worked
  std::int64_t end_ns = 0;    // if it is not done: of the timeline, or when its rank died
  bool dies = false;          // its rank died in it, before the run came to rest
};

/// An act that waits at the end of a run that has come to rest.
struct StuckAct {
  sim::ActorId actor;
  std::uint32_t k = 0;
  bool on_cycle = false;
  std::vector<Wait> waits;  // in the order of the rules, at least one
};

/// A stream of a rank, or a host thread of it.
struct Lane {
  std::uint32_t rank = 0;
  bool is_thread = false;
  std::uint32_t id = 0;  // of the stream or thread, in the plan
  std::string name;
  std::vector<Slice> slices;    // in order; none begins before the one before it has ended
  std::vector<StuckAct> stuck;  // the one to show first is first: of the cycle, then by progress
};

struct Timeline {
  std::int64_t end_ns = 0;  // of the last progress, and of all that is in it
  bool at_rest = false;     // work is missing, and nothing can happen any more
  std::vector<Lane> lanes;  // by rank; threads before streams; those with nothing in them left out
};

struct TimelineOptions {
  std::optional<RankSet> ranks;  // nothing: all
  bool all_of_threads = false;   // also launches that take a thread no time
};

/// The run must have kept act times.
Timeline timeline(const TaskGraph& graph, const Simulation& run,
                  const TimelineOptions& options = {});

/// That something goes from one act to another, of another rank.
struct Flow {
  enum class Kind : std::uint8_t { kMessage, kCollective, kRegister };
  Kind kind = Kind::kMessage;
  sim::ActorId from;
  std::uint32_t from_k = 0;
  sim::ActorId to;
  std::uint32_t to_k = 0;
};

/// Between acts that are done: from a send to its receive (they match by order,
/// docs/reference/rules.md 9.5), from the member of a collective that started last to each other,
/// and from the producer of a register to a consumer on another rank. The run must have kept act
/// times.
std::vector<Flow> flows(const Simulation& run);

/// "0F3", "B0#1": an act as pictures call it. The number is left out where there is one act.
std::string act_label(const TaskGraph& graph, const Lowered& lowered, sim::ActorId id,
                      std::uint32_t k);

}  // namespace pipesim::models
