// Lowering of the task graph to the plan: places each template on its ranks, turns reads into
// edges, and derives the number of ops of each actor from the sources.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/graph/task_graph.hpp"
#include "sim/plan.hpp"

namespace pipesim::models {

/// A plan, and the template that each part of it came from.
struct Lowered {
  Lowered();
  Lowered(const Lowered&);
  Lowered(Lowered&&) noexcept;
  Lowered& operator=(const Lowered&);
  Lowered& operator=(Lowered&&) noexcept;
  ~Lowered();

  sim::Plan plan;
  sim::IdVector<sim::ActorId, std::uint32_t> actor_template;  // index in TaskGraph::actors
  // Index in TaskGraph::streams; kNoIndex: an actor's own stream.
  sim::IdVector<sim::StreamId, std::uint32_t> stream_template;
  sim::IdVector<sim::StreamId, std::uint32_t> stream_owner;  // index of its actor, or kNoIndex
  // Index in TaskGraph::threads; kNoIndex: an actor's own thread.
  sim::IdVector<sim::ThreadId, std::uint32_t> thread_template;
  sim::IdVector<sim::ThreadId, std::uint32_t> thread_owner;
  // Index in the producer's registers.
  sim::IdVector<sim::RegisterId, std::uint32_t> register_template;
  std::vector<std::string> link_names;  // indexed by LinkId, see FaultLowering
};

/// Limit on the actors of all ranks together. Each actor takes a few hundred bytes of a plan, and
/// more in a report.
inline constexpr std::uint64_t kMaxPlacedActors = 10'000'000;

/// Limit on the reads of all ranks together. A group of n ranks that all read from each other has n
/// * n reads.
inline constexpr std::uint64_t kMaxPlacedReads = 50'000'000;

/// Returns the plan. Returns nullopt if `graph` has mistakes: reads from missing actors, rates that
/// do not balance, numbers out of range. Then `diagnostics` has each mistake, reported for one
/// rank.
///
/// Actors are numbered rank by rank, and within a rank in file order. The engine breaks ties by
/// these numbers.
std::optional<Lowered> lower(const TaskGraph& graph, Diagnostics& diagnostics);

/// Lowers only the ranks `kept`, which keep their numbers; the other ranks have nothing to do.
/// Communicators and collectives exclude the other ranks, but take the same time as with them.
/// `kept` must include all ranks that kept ranks send to or receive from.
std::optional<Lowered> lower_some(const TaskGraph& graph, const RankSet& kept,
                                  Diagnostics& diagnostics);

}  // namespace pipesim::models
