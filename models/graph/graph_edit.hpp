// Edits that many passes share: find items by name, and insert or remove items that others refer to
// by index.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/graph/parts.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::models {

/// Return the index of the item called `name`. If there is none, report an error with the nearest
/// name and return nullopt.
std::optional<std::uint32_t> find_stream(const TaskGraph& graph, const std::string& name,
                                         Diagnostics& diagnostics);
std::optional<std::uint32_t> find_group(const TaskGraph& graph, const std::string& name,
                                        Diagnostics& diagnostics);
std::optional<std::uint32_t> find_register(const ActorTemplate& actor, const std::string& name,
                                           Diagnostics& diagnostics);

/// Returns the actors called `name`: one actor, or several steps of host programs on different
/// ranks. If there are none, reports an error and returns an empty list.
std::vector<std::uint32_t> find_actors(const TaskGraph& graph, const std::string& name,
                                       Diagnostics& diagnostics);

/// Returns the actor called `name`. Reports an error if there is none, or if it is a step of a host
/// program.
std::optional<std::uint32_t> find_actor(const TaskGraph& graph, const std::string& name,
                                        Diagnostics& diagnostics);

/// Returns the streams of all readers of `actor`, in the order of the file, each once. The list
/// contains kNoIndex if a reader has its own stream.
std::vector<std::uint32_t> streams_fed_by(const TaskGraph& graph, std::uint32_t actor);

/// Returns `name`, or, if `items` has that name, the first free one of `name.2`, `name.3`, ...
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

/// Inserts `actor` at `index`, and updates all references to later actors. The reads of `actor`
/// must use the old indices.
void insert_actor(TaskGraph& graph, std::uint32_t index, ActorTemplate actor);

/// Removes the actors for which `keep` (one entry per actor) is false, and all reads of them.
void keep_actors(TaskGraph& graph, const std::vector<bool>& keep);

/// Removes the registers of `actor` for which `keep` is false. No actor may read them.
void keep_registers(TaskGraph& graph, std::uint32_t actor, const std::vector<bool>& keep);

/// Drops actors and reads that are on no rank, except actors that a fault names.
void drop_actors_on_no_rank(TaskGraph& graph);

/// Drops registers without readers, except the first register of each actor, its output.
void drop_registers_without_readers(TaskGraph& graph);

/// Returns for each thing of this kind whether any template refers to it.
std::vector<bool> used(const TaskGraph& graph, To to);

/// Drops the things of this kind to which no template refers.
void drop_unused(TaskGraph& graph, To to);

/// Adds a stream, launched by the host thread of the same name, and returns its index.
std::uint32_t add_stream(TaskGraph& graph, const std::string& name);

/// Calls `visit(reader, read)` for each read of `actor`, with the index of the reader and a
/// ReadTemplate&.
template <typename Visit>
void for_each_read_of(TaskGraph& graph, std::uint32_t actor, Visit visit) {
  for (std::uint32_t reader = 0; reader < graph.actors.size(); ++reader) {
    for (ReadTemplate& read : graph.actors[reader].reads) {
      if (read.actor == actor) visit(reader, read);
    }
  }
}

/// Restores the order that scenario files have, after passes changed it: each actor reads data
/// before control registers, and actors precede the steps of host programs. Also indexes the
/// groups.
void put_in_order(TaskGraph& graph);

}  // namespace pipesim::models
