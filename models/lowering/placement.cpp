#include "models/lowering/placement.hpp"

#include <algorithm>
#include <string>

#include "models/lowering/lowering.hpp"

namespace pipesim::models {

using sim::ActorId;

void Placement::run() {
  check_count();
  check_read_count();
  if (diagnostics_.has_errors()) return;
  place_actors();
  connect_reads();
}

void Placement::check_count() {
  std::uint64_t count = 0;
  for (const ActorTemplate& actor : graph_.actors) {
    count += actor.on.size();
    if (count <= kMaxPlacedActors) continue;
    Diagnostic* error = diagnostics_.error_once(
        actor.place, Code::kLimit,
        "up to '" + actor.name + "' the actors and steps come to more than " +
            std::to_string(kMaxPlacedActors) + " on all ranks together");
    if (error != nullptr) error->notes.emplace_back("simulate fewer ranks, or fewer actors");
    return;
  }
}

void Placement::check_read_count() {
  std::uint64_t count = 0;
  for (const ActorTemplate& actor : graph_.actors) {
    for (const ReadTemplate& read : actor.reads) {
      count += placed_reads(actor, read);
      if (count <= kMaxPlacedReads) continue;
      Diagnostic* error =
          diagnostics_.error_once(read.place, Code::kLimit,
                                  "up to this one the reads come to more than " +
                                      std::to_string(kMaxPlacedReads) + " on all ranks together");
      if (error != nullptr && read.group != kNoIndex) {
        error->notes.push_back("each rank of group '" + graph_.groups[read.group].name +
                               "' reads from all of them: use a collective, or smaller groups");
      }
      return;
    }
  }
}

std::uint64_t Placement::placed_reads(const ActorTemplate& consumer,
                                      const ReadTemplate& read) const {
  if (read.group == kNoIndex) return read.on.size();
  std::uint64_t count = 0;
  for (const std::vector<std::uint32_t>& list : graph_.groups[read.group].lists) {
    const auto readers = std::count_if(list.begin(), list.end(), [&](std::uint32_t rank) {
      return consumer.on.contains(rank) && read.on.contains(rank);
    });
    count += static_cast<std::uint64_t>(readers) * list.size();
  }
  return count;
}

void Placement::place_actors() {
  std::vector<std::vector<std::uint32_t>> templates_on(graph_.ranks);
  placed_ids_.resize(graph_.actors.size());
  for (std::uint32_t t = 0; t < graph_.actors.size(); ++t) {
    placed_ids_[t].resize(graph_.actors[t].on.size());
    for (const std::uint32_t rank : graph_.actors[t].on) templates_on[rank].push_back(t);
  }
  std::vector<std::size_t> next(graph_.actors.size(), 0);
  for (std::uint32_t rank = 0; rank < graph_.ranks; ++rank) {
    for (const std::uint32_t t : templates_on[rank]) {
      placed_ids_[t][next[t]++] = placed_.push_back(Placed{t, rank});
    }
  }
}

ActorId Placement::find(std::uint32_t actor_template, std::uint32_t rank) const {
  const RankSet& on = graph_.actors[actor_template].on;
  const auto found = std::lower_bound(on.begin(), on.end(), rank);
  if (found == on.end() || *found != rank) return {};
  return placed_ids_[actor_template][static_cast<std::size_t>(found - on.begin())];
}

void Placement::connect_reads() {
  for (const ActorId id : ids()) {
    for (const ReadTemplate& read : actor(id).reads) {
      if (read.on.contains(rank_of(id))) connect_read(id, read);
    }
  }
}

void Placement::connect_read(ActorId consumer, const ReadTemplate& read) {
  const std::uint32_t rank = rank_of(consumer);
  if (read.group != kNoIndex) {
    const Group& group = graph_.groups[read.group];
    const std::uint32_t list = group.list_of(rank);
    if (list == kNoIndex) {
      diagnostics_.error_once(read.place, Code::kNotInGroup,
                              rank_text(rank) + " is not in group '" + group.name + "'");
      return;
    }
    for (const std::uint32_t member : group.lists[list]) connect(consumer, read, member);
    return;
  }
  if (!read.rank) {
    connect(consumer, read, rank);
    return;
  }
  std::string why;
  const std::optional<std::int64_t> other = read.rank->value(rank, &why);
  if (!other) {
    diagnostics_.error_once(read.place, Code::kArithmetic,
                            "the rank to read from, on " + rank_text(rank) + ": " + why);
  } else {
    connect(consumer, read, *other);
  }
}

void Placement::connect(ActorId consumer, const ReadTemplate& read, std::int64_t rank) {
  const ActorTemplate& from = graph_.actors[read.actor];
  const std::uint32_t here = rank_of(consumer);
  const bool exists = rank >= 0 && rank < graph_.ranks;
  const ActorId producer = exists ? find(read.actor, static_cast<std::uint32_t>(rank)) : ActorId();
  if (!producer.valid()) {
    Diagnostic* error = diagnostics_.error_once(
        read.place, Code::kNoProducer,
        "'" + actor(consumer).name + "' on " + rank_text(here) + " reads '" + from.name +
            "' of rank " + std::to_string(rank) +
            (exists ? ", which has no such actor" : ", which does not exist"));
    if (error == nullptr) return;
    if (exists && !read.rank && read.group == kNoIndex) {
      error->notes.push_back("say which rank it reads from: {from: " + from.name +
                             ", rank: rank - 1}, or on which ranks it reads: {from: " + from.name +
                             ", on: ...}");
    }
    return;
  }
  RatedEdge edge;
  edge.producer = producer.value;
  edge.consumer = consumer.value;
  const RegisterTemplate& reg = from.registers[read.reg];
  edge.ops_per_fill = static_cast<std::uint32_t>(diagnostics_.number(
      reg.ops_per_slot, rank_of(producer), 1, kMax32, reg.place, "the ops per slot"));
  edge.ops_per_take = static_cast<std::uint32_t>(
      diagnostics_.number(read.ops_per_slot, here, 1, kMax32, read.place, "the ops per slot"));
  edges_.push_back(edge);
  edge_reads_.push_back(&read);
}

}  // namespace pipesim::models
