// Walks over all parts of a task graph, and lookup of the things that their indices refer to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/task_graph.hpp"

namespace pipesim::models {

/// Calls `visit(part, on)` for `actor` and each struct in it, the actor last. `on` are the ranks on
/// which the expressions of the part have values.
template <typename Actor, typename Visit>
void for_each_part_of(Actor& actor, const Visit& visit) {
  const RankSet on = actor.on;
  if (actor.input) visit(*actor.input, on);
  if (actor.collective) visit(*actor.collective, on);
  if (actor.step) {
    visit(*actor.step, on);
    for (auto& call : actor.step->calls) visit(call, on);
  }
  for (auto& after : actor.after) visit(after, on);
  for (auto& reg : actor.registers) visit(reg, on);
  for (auto& read : actor.reads) visit(read, RankSet(read.on));
  visit(actor, on);
}

/// Calls `visit(part, on)` for each template of `graph` and each struct in a template.
template <typename Graph, typename Visit>
void for_each_part(Graph& graph, const Visit& visit) {
  const RankSet all = RankSet::range(0, graph.ranks);
  const auto visit_all = [&](auto& parts) {
    for (auto& part : parts) visit(part, all);
  };
  visit(graph.init, all);
  visit(graph.device, all);
  visit(graph.timeouts, all);
  visit(graph.processes, all);
  visit_all(graph.groups);
  visit_all(graph.threads);
  visit_all(graph.streams);
  for (auto& communicator : graph.communicators) {
    visit(communicator.init, all);
    visit(communicator, all);
  }
  visit_all(graph.events);
  for (auto& fault : graph.faults.ranks) visit(fault, RankSet(fault.ranks));
  visit_all(graph.faults.links);
  visit_all(graph.faults.ports);
  visit_all(graph.faults.denied);
  for (auto& actor : graph.actors) for_each_part_of(actor, visit);
}

/// Calls `visit(index)` for each reference to a thing of this kind, except by the programs of
/// threads, which name actors. An index can be kNoIndex.
template <typename Graph, typename Visit>
void for_each_reference(Graph& graph, To to, const Visit& visit) {
  for_each_part(graph, [&](auto& part, const RankSet&) { for_each_ref(part, to, visit); });
}

/// Calls `use(things)` with the things of this kind, a list of templates or of names. Does nothing
/// for links, interfaces and hosts if the graph has no cluster.
template <typename Graph, typename Use>
void with_things(Graph& graph, To to, const Use& use) {
  switch (to) {
    case To::kNothing:
    case To::kRank:
      return;
    case To::kActor:
      return use(graph.actors);
    case To::kGroup:
      return use(graph.groups);
    case To::kStream:
      return use(graph.streams);
    case To::kThread:
      return use(graph.threads);
    case To::kCommunicator:
      return use(graph.communicators);
    case To::kEvent:
      return use(graph.events);
    case To::kLock:
      return use(graph.locks);
    case To::kPhase:
      return use(graph.phases);
    case To::kLink:
      return graph.cluster ? use(graph.cluster->links) : void();
    case To::kInterface:
      return graph.cluster ? use(graph.cluster->interfaces) : void();
    case To::kHost:
      return graph.cluster ? use(graph.cluster->hosts) : void();
  }
}

/// Return the number of things of this kind, their names, or the name of one thing.
std::size_t count_of(const TaskGraph& graph, To to);
std::vector<std::string> names_of(const TaskGraph& graph, To to);
std::string name_of(const TaskGraph& graph, To to, std::uint32_t index);

/// Returns the index of the thing called `name`; kNoIndex if there is none.
std::uint32_t find_thing(const TaskGraph& graph, To to, std::string_view name);

/// Returns "group", "stream" and so on.
const char* noun(To to);

/// The member by which a step of a host program names a thing, and the kind of the thing. Steps
/// that name nothing have no such member.
struct NamedObject {
  std::uint32_t StepTemplate::*index = nullptr;
  To to = To::kNothing;
};

/// Returns the member by which steps of this role name a thing.
NamedObject object_of(sim::Role role);

}  // namespace pipesim::models
