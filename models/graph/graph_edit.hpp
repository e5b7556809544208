// What passes do to a task graph again and again: find things by name, and put in or remove what
// others refer to by index.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::models {

/// The index of the thing of this name. Nothing where there is none, which is reported with the
/// nearest name.
std::optional<std::uint32_t> find_stream(const TaskGraph& graph, const std::string& name,
                                         Diagnostics& diagnostics);
std::optional<std::uint32_t> find_group(const TaskGraph& graph, const std::string& name,
                                        Diagnostics& diagnostics);
std::optional<std::uint32_t> find_register(const ActorTemplate& actor, const std::string& name,
                                           Diagnostics& diagnostics);

/// The actors of this name: one, or several steps of host programs on different ranks. None where
/// there is none, which is reported.
std::vector<std::uint32_t> find_actors(const TaskGraph& graph, const std::string& name,
                                       Diagnostics& diagnostics);

/// The one that is no step of a host program.
std::optional<std::uint32_t> find_actor(const TaskGraph& graph, const std::string& name,
                                        Diagnostics& diagnostics);

/// The streams of those that read the actor, in the order of the file, each once. One may be
/// kNoIndex.
std::vector<std::uint32_t> streams_fed_by(const TaskGraph& graph, std::uint32_t actor);

/// `name`, or `name.2`, `name.3`, ... if things of that name are there.
template <typename Items>
std::string free_name(const Items& items, std::string_view name) {
  std::string result(name);
  const auto taken = [&] {
    for (const auto& item : items) {
      if (item.name == result) return true;
    }
    return false;
  };
  for (int copy = 2; taken(); ++copy) result = std::string(name) + '.' + std::to_string(copy);
  return result;
}

/// Puts `actor` in at `index`, before what is there. Actors from there on get the next index, and
/// all that refers to them is told; what `actor` itself reads must be given by the old indices.
void insert_actor(TaskGraph& graph, std::uint32_t index, ActorTemplate actor);

/// Takes out the actors for which `keep` (one for each) is false, with all that reads them.
void keep_actors(TaskGraph& graph, const std::vector<bool>& keep);

/// The same for streams, threads, groups and so on; nothing that is kept may refer to what is not.
void keep_streams(TaskGraph& graph, const std::vector<bool>& keep);
void keep_threads(TaskGraph& graph, const std::vector<bool>& keep);
void keep_groups(TaskGraph& graph, const std::vector<bool>& keep);
void keep_communicators(TaskGraph& graph, const std::vector<bool>& keep);
void keep_events(TaskGraph& graph, const std::vector<bool>& keep);
void keep_phases(TaskGraph& graph, const std::vector<bool>& keep);
void keep_registers(TaskGraph& graph, std::uint32_t actor, const std::vector<bool>& keep);

/// Drops actors and reads that are on no rank, but for actors that a fault names.
void drop_actors_on_no_rank(TaskGraph& graph);

/// Drops registers that nobody reads, but for the first of each actor: its output.
void drop_registers_without_readers(TaskGraph& graph);

/// Drops streams that nothing is on, and threads that nothing is launched by.
/// Of each stream, whether an actor, a step or a communicator names it.
std::vector<bool> used_streams(const TaskGraph& graph);

void drop_unused_streams(TaskGraph& graph);
void drop_unused_threads(TaskGraph& graph);

/// Adds a stream with a host thread of its name, and returns its index.
std::uint32_t add_stream(TaskGraph& graph, const std::string& name);

/// Calls `visit(reader, read)` for each read of `actor`: the index of the reader, a ReadTemplate&.
template <typename Visit>
void for_each_read_of(TaskGraph& graph, std::uint32_t actor, Visit visit) {
  for (std::uint32_t reader = 0; reader < graph.actors.size(); ++reader) {
    for (ReadTemplate& read : graph.actors[reader].reads) {
      if (read.actor == actor) visit(reader, read);
    }
  }
}

/// Call `visit(index)` for each index of a group, communicator, event or phase that is referred to;
/// one may be kNoIndex.
template <typename Graph, typename Visit>
void for_each_group_used(Graph& graph, Visit visit) {
  for (auto& communicator : graph.communicators) visit(communicator.group);
  for (auto& actor : graph.actors) {
    if (actor.collective) visit(actor.collective->group);
    for (auto& read : actor.reads) visit(read.group);
  }
}
template <typename Graph, typename Visit>
void for_each_communicator_used(Graph& graph, Visit visit) {
  for (auto& actor : graph.actors) {
    if (actor.collective) visit(actor.collective->communicator);
    if (!actor.step) continue;
    visit(actor.step->communicator);
    for (auto& call : actor.step->calls) visit(call.communicator);
  }
  for (auto& fault : graph.faults.denied) visit(fault.communicator);
}
template <typename Graph, typename Visit>
void for_each_event_used(Graph& graph, Visit visit) {
  for (auto& actor : graph.actors) {
    if (actor.step) visit(actor.step->event);
  }
}
template <typename Graph, typename Visit>
void for_each_phase_used(Graph& graph, Visit visit) {
  for (auto& actor : graph.actors) visit(actor.phase);
}

/// Brings what a pass may do in any order into the order of files: an actor reads data first, then
/// control registers; actors stand before the steps of host programs. Groups are indexed.
void put_in_order(TaskGraph& graph);

}  // namespace pipesim::models
