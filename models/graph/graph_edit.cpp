#include "models/graph/graph_edit.hpp"

#include <algorithm>
#include <utility>

#include "models/graph/by_name.hpp"

namespace pipesim::models {
namespace {

template <typename Items>
std::optional<std::uint32_t> find_or_tell(const Items& items, const std::string& name,
                                          Diagnostics& diagnostics, const std::string& message) {
  const std::uint32_t found = index_of(items, name);
  if (found != kNoIndex) return found;
  Diagnostic& error = diagnostics.error({}, Code::kPassTarget, message);
  suggest_name(error, name, names_of(items));
  return std::nullopt;
}

// Returns the new index of each item; kNoIndex for items that are not kept.
std::vector<std::uint32_t> indices_of_kept(const std::vector<bool>& keep) {
  std::vector<std::uint32_t> indices;
  std::uint32_t next = 0;
  for (const bool kept : keep) indices.push_back(kept ? next++ : kNoIndex);
  return indices;
}

template <typename Items>
void erase_others(Items& items, const std::vector<bool>& keep) {
  Items kept;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (keep[i]) kept.push_back(std::move(items[i]));
  }
  items = std::move(kept);
}

void point_to(std::uint32_t& index, const std::vector<std::uint32_t>& indices) {
  if (index != kNoIndex) index = indices[index];
}

// Renumbers the actors of `steps`. Keeps blocks, and drops steps whose actor was removed.
void renumber(std::vector<ProgramStep>& steps, const std::vector<std::uint32_t>& indices) {
  std::vector<ProgramStep> kept;
  for (ProgramStep& step : steps) {
    const bool is_block = step.actor == kNoIndex;
    point_to(step.actor, indices);
    for (std::uint32_t& actor : step.list) point_to(actor, indices);
    step.list.erase(std::remove(step.list.begin(), step.list.end(), kNoIndex), step.list.end());
    renumber(step.block, indices);
    if (is_block || step.actor != kNoIndex) kept.push_back(std::move(step));
  }
  steps = std::move(kept);
}

template <typename Items>
void erase_without_actor(Items& items) {
  items.erase(std::remove_if(items.begin(), items.end(),
                             [](const auto& item) { return item.actor == kNoIndex; }),
              items.end());
}

// Updates all references to actors to the new indices.
void renumber_actors(TaskGraph& graph, const std::vector<std::uint32_t>& indices) {
  for_each_reference(graph, To::kActor, [&](std::uint32_t& index) { point_to(index, indices); });
  for (ActorTemplate& actor : graph.actors) {
    erase_without_actor(actor.reads);
    erase_without_actor(actor.after);
  }
  for (HostThread& thread : graph.threads) renumber(thread.program, indices);
  std::erase_if(graph.faults.ranks,
                [](const RankFault& fault) { return !fault.at && fault.actor == kNoIndex; });
}

}  // namespace

std::optional<std::uint32_t> find_stream(const TaskGraph& graph, const std::string& name,
                                         Diagnostics& diagnostics) {
  return find_or_tell(graph.streams, name, diagnostics, "unknown stream '" + name + "'");
}

std::optional<std::uint32_t> find_group(const TaskGraph& graph, const std::string& name,
                                        Diagnostics& diagnostics) {
  return find_or_tell(graph.groups, name, diagnostics, "unknown group '" + name + "'");
}

std::optional<std::uint32_t> find_register(const ActorTemplate& actor, const std::string& name,
                                           Diagnostics& diagnostics) {
  return find_or_tell(actor.registers, name, diagnostics,
                      "'" + actor.name + "' has no register '" + name + "'");
}

std::vector<std::uint32_t> find_actors(const TaskGraph& graph, const std::string& name,
                                       Diagnostics& diagnostics) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < graph.actors.size(); ++i) {
    if (graph.actors[i].name == name) found.push_back(i);
  }
  if (found.empty()) {
    find_or_tell(graph.actors, name, diagnostics, "unknown actor '" + name + "'");
  }
  return found;
}

std::optional<std::uint32_t> find_actor(const TaskGraph& graph, const std::string& name,
                                        Diagnostics& diagnostics) {
  const std::vector<std::uint32_t> found = find_actors(graph, name, diagnostics);
  if (found.empty()) return std::nullopt;
  if (!graph.actors[found.front()].step) return found.front();
  diagnostics.error(graph.actors[found.front()].place, Code::kPassTarget,
                    "'" + name + "' is a step of a host program, which has no registers");
  return std::nullopt;
}

std::vector<std::uint32_t> streams_fed_by(const TaskGraph& graph, std::uint32_t actor) {
  std::vector<std::uint32_t> streams;
  for (const ActorTemplate& reader : graph.actors) {
    for (const ReadTemplate& read : reader.reads) {
      const bool known = std::find(streams.begin(), streams.end(), reader.stream) != streams.end();
      if (read.actor == actor && !known) streams.push_back(reader.stream);
    }
  }
  return streams;
}

void insert_actor(TaskGraph& graph, std::uint32_t index, ActorTemplate actor) {
  std::vector<std::uint32_t> indices;
  for (std::uint32_t i = 0; i < graph.actors.size(); ++i) indices.push_back(i < index ? i : i + 1);
  for (ReadTemplate& read : actor.reads) point_to(read.actor, indices);
  renumber_actors(graph, indices);
  graph.actors.insert(graph.actors.begin() + index, std::move(actor));
}

void keep_actors(TaskGraph& graph, const std::vector<bool>& keep) {
  erase_others(graph.actors, keep);
  renumber_actors(graph, indices_of_kept(keep));
}

void keep_registers(TaskGraph& graph, std::uint32_t actor, const std::vector<bool>& keep) {
  const std::vector<std::uint32_t> indices = indices_of_kept(keep);
  erase_others(graph.actors[actor].registers, keep);
  for_each_read_of(graph, actor,
                   [&](std::uint32_t, ReadTemplate& read) { point_to(read.reg, indices); });
}

void drop_actors_on_no_rank(TaskGraph& graph) {
  std::vector<bool> keep;
  for (ActorTemplate& actor : graph.actors) {
    keep.push_back(!actor.on.empty());
    auto& reads = actor.reads;
    reads.erase(std::remove_if(reads.begin(), reads.end(),
                               [](const ReadTemplate& read) { return read.on.empty(); }),
                reads.end());
  }
  // Keeps actors that a fault names; otherwise the fault would be dropped.
  for (const RankFault& fault : graph.faults.ranks) {
    if (fault.actor != kNoIndex) keep[fault.actor] = true;
  }
  keep_actors(graph, keep);
}

// Keeps the first register of each actor: the output that every actor has.
void drop_registers_without_readers(TaskGraph& graph) {
  std::vector<std::vector<bool>> read_by_someone;
  for (const ActorTemplate& actor : graph.actors) {
    read_by_someone.emplace_back(actor.registers.size(), false);
    if (!actor.registers.empty()) read_by_someone.back().front() = true;
  }
  for (const ActorTemplate& actor : graph.actors) {
    for (const ReadTemplate& read : actor.reads) read_by_someone[read.actor][read.reg] = true;
  }
  for (std::uint32_t i = 0; i < graph.actors.size(); ++i) {
    keep_registers(graph, i, read_by_someone[i]);
  }
}

std::vector<bool> used(const TaskGraph& graph, To to) {
  std::vector<bool> result(count_of(graph, to), false);
  for_each_reference(graph, to, [&](std::uint32_t index) {
    if (index != kNoIndex) result[index] = true;
  });
  return result;
}

void drop_unused(TaskGraph& graph, To to) {
  const std::vector<bool> keep = used(graph, to);
  const std::vector<std::uint32_t> indices = indices_of_kept(keep);
  with_things(graph, to, [&](auto& things) { erase_others(things, keep); });
  for_each_reference(graph, to, [&](std::uint32_t& index) { point_to(index, indices); });
}

std::uint32_t add_stream(TaskGraph& graph, const std::string& name) {
  StreamTemplate stream;
  stream.name = name;
  stream.launch_queue = graph.launch_queue;
  stream.thread = index_of(graph.threads, name);
  if (stream.thread == kNoIndex) {
    stream.thread = static_cast<std::uint32_t>(graph.threads.size());
    graph.threads.emplace_back();
    graph.threads.back().name = name;
  }
  graph.streams.push_back(std::move(stream));
  return static_cast<std::uint32_t>(graph.streams.size() - 1);
}

void put_in_order(TaskGraph& graph) {
  for (Group& group : graph.groups) group.index();
  for (ActorTemplate& actor : graph.actors) {
    std::stable_partition(actor.reads.begin(), actor.reads.end(), [&](const ReadTemplate& read) {
      const bool known =
          read.actor < graph.actors.size() && read.reg < graph.actors[read.actor].registers.size();
      return !known || !graph.actors[read.actor].registers[read.reg].control;
    });
  }
  const auto is_actor = [](const ActorTemplate& actor) { return !actor.step; };
  if (std::is_partitioned(graph.actors.begin(), graph.actors.end(), is_actor)) return;
  std::vector<std::uint32_t> indices(graph.actors.size());
  std::uint32_t next = 0;
  for (const bool steps : {false, true}) {
    for (std::uint32_t i = 0; i < graph.actors.size(); ++i) {
      if (graph.actors[i].step.has_value() == steps) indices[i] = next++;
    }
  }
  std::stable_partition(graph.actors.begin(), graph.actors.end(), is_actor);
  renumber_actors(graph, indices);
}

}  // namespace pipesim::models
