// From the task graph to the plan: each template is laid out on its ranks, reads become edges, and
// how often each actor acts is worked out from the sources.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/graph/task_graph.hpp"
#include "sim/plan.hpp"

namespace pipesim::models {

/// A plan, and which template each part of it came from.
struct Lowered {
  Lowered();
  Lowered(const Lowered&);
  Lowered(Lowered&&) noexcept;
  Lowered& operator=(const Lowered&);
  Lowered& operator=(Lowered&&) noexcept;
  ~Lowered();

  sim::Plan plan;
  sim::IdVector<sim::ActorId, std::uint32_t> actor_template;    // in TaskGraph::actors
  sim::IdVector<sim::StreamId, std::uint32_t> stream_template;  // in streams, or kNoIndex: own
  sim::IdVector<sim::StreamId, std::uint32_t> stream_owner;     // of an own one: in actors
  sim::IdVector<sim::ThreadId, std::uint32_t> thread_template;  // in threads, or kNoIndex: own
  sim::IdVector<sim::ThreadId, std::uint32_t> thread_owner;
  sim::IdVector<sim::RegisterId, std::uint32_t> register_template;  // in the producer's registers
  std::vector<std::string> link_names;                              // by LinkId, see FaultLowering
};

/// Actors of all ranks together. Each takes some hundred bytes of a plan, and more in a report.
inline constexpr std::uint64_t kMaxPlacedActors = 10'000'000;

/// Reads of all ranks together. In a group in which all read from all, they are its size squared.
inline constexpr std::uint64_t kMaxPlacedReads = 50'000'000;

/// Nothing where `graph` has mistakes: reads of what is not there, rates that do not balance,
/// numbers out of range. Then `diagnostics` has them all, each told for one rank.
///
/// Actors are numbered rank by rank, and on a rank in the order of the file: whatever the engine
/// settles by number is settled that way.
std::optional<Lowered> lower(const TaskGraph& graph, Diagnostics& diagnostics);

/// The same of the ranks `kept` alone, which keep their numbers: the others have nothing to do, and
/// communicators and collectives are without them, but take as long as with them. Whom kept ranks
/// send to or receive from is kept too.
std::optional<Lowered> lower_some(const TaskGraph& graph, const RankSet& kept,
                                  Diagnostics& diagnostics);

}  // namespace pipesim::models
