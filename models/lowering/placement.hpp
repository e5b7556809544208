// Placement of templates on ranks, and the producer and consumer of every read.
#pragma once

#include <cstdint>
#include <vector>

#include "models/graph/task_graph.hpp"
#include "models/lowering/balance.hpp"
#include "models/lowering/rank_diagnostics.hpp"
#include "sim/ids.hpp"

namespace pipesim::models {

/// Actors placed on ranks, numbered rank by rank and within a rank in file order. Template indices
/// are plain numbers; placed actors have a sim::ActorId.
class Placement {
 public:
  Placement(const TaskGraph& graph, RankDiagnostics& diagnostics)
      : graph_(graph), diagnostics_(diagnostics) {}

  /// Places all actors and connects their reads. The other members are valid only if run() reports
  /// no errors.
  void run();

  sim::IdRange<sim::ActorId> ids() const { return ids_of(placed_); }
  std::uint32_t template_of(sim::ActorId id) const { return placed_[id].actor_template; }
  std::uint32_t rank_of(sim::ActorId id) const { return placed_[id].rank; }
  const ActorTemplate& actor(sim::ActorId id) const { return graph_.actors[template_of(id)]; }

  /// Returns the index of an actor's host thread in TaskGraph::threads; kNoIndex if the thread is
  /// unnamed.
  std::uint32_t thread_of(sim::ActorId id) const {
    const ActorTemplate& from = actor(id);
    if (from.thread != kNoIndex) return from.thread;
    return from.stream == kNoIndex ? kNoIndex : graph_.streams[from.stream].thread;
  }

  /// Returns the actor of this template on `rank`; not valid if there is none.
  sim::ActorId find(std::uint32_t actor_template, std::uint32_t rank) const;

  /// Returns one edge per placed read; read_of() returns the template of the read.
  const std::vector<RatedEdge>& edges() const { return edges_; }
  const ReadTemplate& read_of(std::size_t edge) const { return *edge_reads_[edge]; }

 private:
  struct Placed {
    std::uint32_t actor_template;
    std::uint32_t rank;
  };

  void check_count();
  void check_read_count();
  std::uint64_t placed_reads(const ActorTemplate& consumer, const ReadTemplate& read) const;
  void place_actors();
  void connect_reads();
  void connect_read(sim::ActorId consumer, const ReadTemplate& read);
  void connect(sim::ActorId consumer, const ReadTemplate& read, std::int64_t rank);

  const TaskGraph& graph_;
  RankDiagnostics& diagnostics_;
  sim::IdVector<sim::ActorId, Placed> placed_;
  std::vector<std::vector<sim::ActorId>> placed_ids_;  // indexed by template, parallel to its ranks
  std::vector<RatedEdge> edges_;
  std::vector<const ReadTemplate*> edge_reads_;
};

}  // namespace pipesim::models
