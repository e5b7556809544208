#include "models/lowering/program_walk.hpp"

namespace pipesim::models {
namespace {

using sim::Role;

void walk(const std::vector<ProgramStep>& steps, const TaskGraph& graph, std::uint32_t rank,
          const ProgramStep* block, std::vector<WalkedStep>& result) {
  const auto add = [&](std::uint32_t actor) {
    if (graph.actors[actor].on.contains(rank)) result.push_back({actor, block});
  };
  for (const ProgramStep& step : steps) {
    if (step.times == 0 || (step.on && !step.on->contains(rank))) continue;
    if (step.actor != kNoIndex) add(step.actor);
    for (const std::uint32_t actor : step.list) add(actor);
    walk(step.block, graph, rank, step.times != 1 ? &step : block, result);
  }
}

// Finds the streams that each step waits for through implied records and waits, which come directly
// before the step.
void find_awaited(const std::vector<ProgramStep>& steps, const TaskGraph& graph,
                  std::set<std::uint32_t>& open, std::vector<std::set<std::uint32_t>>& result) {
  const auto add = [&](std::uint32_t index) {
    const ActorTemplate& actor = graph.actors[index];
    if (!actor.step) return;
    if (actor.step->implied) {
      if (actor.step->role == Role::kRecord) open.insert(actor.stream);
      return;
    }
    result[index].insert(open.begin(), open.end());
    open.clear();
  };
  for (const ProgramStep& step : steps) {
    if (step.actor != kNoIndex) add(step.actor);
    for (const std::uint32_t actor : step.list) add(actor);
    find_awaited(step.block, graph, open, result);
  }
}

// Whether the host step `later` can need the host step `before`.
bool hosts_may_need(Role later, Role before) {
  const bool meetings = (later == Role::kCreate || later == Role::kMeet) &&
                        (before == Role::kCreate || before == Role::kMeet);
  return !meetings;
}

}  // namespace

std::vector<WalkedStep> walk_program(const HostThread& thread, const TaskGraph& graph,
                                     std::uint32_t rank) {
  std::vector<WalkedStep> result;
  walk(thread.program, graph, rank, nullptr, result);
  return result;
}

std::vector<std::set<std::uint32_t>> awaited_streams(const TaskGraph& graph) {
  std::vector<std::set<std::uint32_t>> result(graph.actors.size());
  for (const HostThread& thread : graph.threads) {
    std::set<std::uint32_t> open;
    find_awaited(thread.program, graph, open, result);
  }
  for (std::uint32_t i = 0; i < graph.actors.size(); ++i) {
    const ActorTemplate& actor = graph.actors[i];
    if (actor.behind != kNoIndex) result[i].insert(actor.behind);
    for (const AfterTemplate& after : actor.after) {
      if (after.actor != kNoIndex) result[i].insert(graph.actors[after.actor].stream);
    }
  }
  return result;
}

bool may_need(const TaskGraph& graph, const std::vector<std::set<std::uint32_t>>& awaited,
              std::uint32_t later, std::uint32_t before) {
  const ActorTemplate& a = graph.actors[before];
  const ActorTemplate& b = graph.actors[later];
  if (!a.step || !b.step) return true;
  const Role ra = a.step->role;
  const Role rb = b.step->role;
  if (sim::facts(ra).orders_threads || sim::facts(rb).orders_threads) return true;
  const bool events = a.step->event != kNoIndex && a.step->event == b.step->event;
  if (events) return true;
  if (on_host(ra) && on_host(rb)) return hosts_may_need(rb, ra);
  if (on_host(ra) || on_host(rb)) {
    // A host step depends on launched work only if it waits; waits count as movable. A later launch
    // can use the results of host computation.
    return ra == Role::kWork && !sim::facts(rb).awaits_work;
  }
  const bool calls = ra == Role::kCalls && rb == Role::kCalls;
  if (awaited[later].count(a.stream) > 0) return !calls || a.stream != b.stream;
  return a.stream == b.stream && !calls;
}

}  // namespace pipesim::models
