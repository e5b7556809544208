#include "models/task_graph.hpp"

#include <utility>

namespace pipesim::models {
namespace {

void forget(std::vector<ProgramStep>& steps) {
  for (ProgramStep& step : steps) {
    step.place = {};
    forget(step.block);
  }
}

template <typename Items>
void forget_each(Items& items) {
  for (auto& item : items) item.place = {};
}

void forget(ActorTemplate& actor) {
  actor.place = {};
  forget_each(actor.registers);
  forget_each(actor.reads);
  if (actor.collective) actor.collective->place = {};
  if (actor.step) forget_each(actor.step->calls);
}

}  // namespace

void Group::index(std::uint32_t rank_count) {
  list_of_rank_.assign(rank_count, kNoIndex);
  for (std::uint32_t list = 0; list < lists.size(); ++list) {
    for (const std::uint32_t rank : lists[list]) list_of_rank_[rank] = list;
  }
}

TaskGraph without_places(TaskGraph graph) {
  forget_each(graph.groups);
  forget_each(graph.threads);
  for (HostThread& thread : graph.threads) forget(thread.program);
  forget_each(graph.streams);
  forget_each(graph.communicators);
  forget_each(graph.events);
  forget_each(graph.faults.ranks);
  forget_each(graph.faults.links);
  forget_each(graph.faults.ports);
  forget_each(graph.faults.denied);
  for (ActorTemplate& actor : graph.actors) forget(actor);
  return graph;
}

}  // namespace pipesim::models
