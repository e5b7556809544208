#include "features/check/kernel_loads.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/characters.hpp"
#include "models/graph/by_name.hpp"

namespace pipesim::models {
namespace {

constexpr const char* kContextLock = "CUDA context";

bool is_load(const ActorTemplate& actor) { return actor.step && actor.step->only_cold; }

// Whether the step launches something on a device.
bool launches(const TaskGraph& graph, const ActorTemplate& actor) {
  return actor.step && actor.stream != kNoIndex && !graph.streams[actor.stream].on_host;
}

// Returns the name of a step's kernel: 'F' for 'F0', '1F' or 'F.2'.
std::string kernel_name(const std::string& name) {
  std::string kernel;
  for (const char c : name) {
    if (!is_digit(c) && c != '.') kernel += c;
  }
  return kernel;
}

// Adds kernel loads to the programs of a graph.
class LoadAdder {
 public:
  LoadAdder(TaskGraph& graph, LoadsAt at) : graph_(graph), at_(at) {}

  // Adds the loads. Returns whether there are any.
  bool run() {
    for (std::uint32_t t = 0; t < graph_.threads.size(); ++t) {
      if (graph_.threads[t].order != sim::ThreadOrder::kProgram) continue;
      thread_ = t;
      std::vector<ProgramStep> steps = std::move(graph_.threads[t].program);
      graph_.threads[t].program = with_loads(steps, RankSet::range(0, graph_.ranks));
    }
    return added_;
  }

 private:
  using Steps = std::vector<ProgramStep>;

  Steps with_loads(const Steps& steps, const RankSet& on);
  void add(std::uint32_t actor, const RankSet& on, Steps& steps);
  void add_list(const ProgramStep& list, const RankSet& on, Steps& steps);
  std::string key_of(const ActorTemplate& actor) const;

  TaskGraph& graph_;
  LoadsAt at_;
  std::uint32_t thread_ = 0;
  bool added_ = false;
  // ranks that have loaded, by kernel or phase
  std::map<std::string, std::set<std::uint32_t>> loaded_;
};

std::string LoadAdder::key_of(const ActorTemplate& actor) const {
  if (at_ == LoadsAt::kEachKernel) return kernel_name(actor.name);
  return actor.phase == kNoIndex ? std::string() : graph_.phases[actor.phase];
}

// Adds the step `actor`. Adds a load before the step on those ranks of `on` on which it is the
// first step with its key.
void LoadAdder::add(std::uint32_t actor, const RankSet& on, Steps& steps) {
  const ActorTemplate& from = graph_.actors[actor];
  ProgramStep step;
  step.place = from.place;
  const bool kernel = from.step && from.step->role == sim::Role::kOp && launches(graph_, from);
  if (kernel || is_load(from)) {
    std::set<std::uint32_t>& loaded =
        loaded_[is_load(from) && at_ == LoadsAt::kEachKernel ? kernel_name(from.name).substr(5)
                                                             : key_of(from)];
    std::vector<std::uint32_t> first;
    for (const std::uint32_t rank : both(from.on, on)) {
      if (loaded.insert(rank).second) first.push_back(rank);
    }
    if (kernel && !first.empty()) {
      ActorTemplate load;
      load.name = "load " + from.name;
      load.place = from.place;
      load.thread = thread_;
      load.on = RankSet(std::move(first));
      load.step.emplace();
      load.step->role = sim::Role::kSynchronize;
      load.step->only_cold = true;
      load.step->at = from.step->at;
      step.actor = static_cast<std::uint32_t>(graph_.actors.size());
      graph_.actors.push_back(std::move(load));
      steps.push_back(step);
      added_ = true;
    }
  }
  step.actor = actor;
  steps.push_back(std::move(step));
}

// Adds the steps of a list. Splits the list at the added loads.
void LoadAdder::add_list(const ProgramStep& list, const RankSet& on, Steps& steps) {
  ProgramStep rest;
  rest.place = list.place;
  for (const std::uint32_t actor : list.list) {
    Steps added;
    add(actor, on, added);
    if (added.size() > 1) {
      if (!rest.list.empty()) steps.push_back(rest);
      rest.list = {};
      steps.push_back(std::move(added.front()));
    }
    rest.list.push_back(actor);
  }
  if (!rest.list.empty()) steps.push_back(std::move(rest));
}

std::vector<ProgramStep> LoadAdder::with_loads(const Steps& steps, const RankSet& on) {
  Steps result;
  for (const ProgramStep& step : steps) {
    if (step.actor != kNoIndex) {
      add(step.actor, on, result);
    } else if (!step.list.empty()) {
      add_list(step, on, result);
    } else if (step.times > 0) {
      const RankSet inner = step.on ? both(*step.on, on) : on;
      const std::size_t before = graph_.actors.size();
      ProgramStep first = step;
      first.block = with_loads(step.block, inner);
      if (step.times > 1 && graph_.actors.size() != before) {
        first.times = 1;
        ProgramStep rest = step;
        --rest.times;
        result.push_back(std::move(first));
        result.push_back(std::move(rest));
      } else {
        result.push_back(std::move(first));
      }
    }
  }
  return result;
}

// Adds the lock of the CUDA context to the programs of a graph.
class ContextLocks {
 public:
  explicit ContextLocks(TaskGraph& graph) : graph_(graph) {}

  void run() {
    find_ranks();
    if (ranks_.empty() || index_of(graph_.locks, kContextLock) != kNoIndex) return;
    lock_ = static_cast<std::uint32_t>(graph_.locks.size());
    graph_.locks.push_back({kContextLock, true});
    for (std::uint32_t t = 0; t < graph_.threads.size(); ++t) {
      if (graph_.threads[t].order != sim::ThreadOrder::kProgram) continue;
      thread_ = t;
      add_to(graph_.threads[t].program);
    }
  }

 private:
  void find_ranks();
  void add_to(std::vector<ProgramStep>& steps);
  ProgramStep step(sim::Role role, const ActorTemplate& beside);

  TaskGraph& graph_;
  std::set<std::uint32_t> ranks_;  // ranks with a load and several threads
  std::uint32_t lock_ = 0;
  std::uint32_t thread_ = 0;
};

void ContextLocks::find_ranks() {
  std::map<std::uint32_t, std::set<std::uint32_t>> threads;  // threads that launch, by rank
  std::set<std::uint32_t> loads;
  for (const ActorTemplate& actor : graph_.actors) {
    if (!is_load(actor) && !launches(graph_, actor)) continue;
    for (const std::uint32_t rank : actor.on) {
      threads[rank].insert(actor.thread);
      if (is_load(actor)) loads.insert(rank);
    }
  }
  for (const std::uint32_t rank : loads) {
    if (threads[rank].size() > 1) ranks_.insert(rank);
  }
}

ProgramStep ContextLocks::step(sim::Role role, const ActorTemplate& beside) {
  ActorTemplate actor;
  actor.name = (role == sim::Role::kLock ? "lock " : "unlock ") + std::string(kContextLock);
  actor.place = beside.place;
  actor.thread = thread_;
  actor.on = beside.on;
  actor.step.emplace();
  actor.step->role = role;
  actor.step->lock = lock_;
  actor.step->at = beside.step->at;
  ProgramStep result;
  result.place = beside.place;
  result.actor = static_cast<std::uint32_t>(graph_.actors.size());
  graph_.actors.push_back(std::move(actor));
  return result;
}

// Adds steps that take the lock around each load, and for a moment before each launch of another
// thread.
void ContextLocks::add_to(std::vector<ProgramStep>& steps) {
  std::vector<ProgramStep> result;
  const auto add = [&](std::uint32_t index) {
    const ActorTemplate actor = graph_.actors[index];
    const bool load = is_load(actor);
    const bool locks = (load || launches(graph_, actor)) &&
                       std::any_of(actor.on.begin(), actor.on.end(),
                                   [&](std::uint32_t rank) { return ranks_.count(rank) > 0; });
    ProgramStep own;
    own.place = actor.place;
    own.actor = index;
    if (locks) result.push_back(step(sim::Role::kLock, actor));
    if (locks && !load) result.push_back(step(sim::Role::kUnlock, actor));
    result.push_back(std::move(own));
    if (load && locks) result.push_back(step(sim::Role::kUnlock, actor));
  };
  for (ProgramStep& each : steps) {
    if (each.actor != kNoIndex) {
      add(each.actor);
    } else if (!each.list.empty()) {
      for (const std::uint32_t actor : each.list) add(actor);
    } else {
      add_to(each.block);
      result.push_back(std::move(each));
    }
  }
  steps = std::move(result);
}

}  // namespace

bool has_loads(const TaskGraph& graph) {
  return !graph.device.eager_loading &&
         std::any_of(graph.actors.begin(), graph.actors.end(), is_load);
}

std::optional<TaskGraph> with_loads(const TaskGraph& graph, LoadsAt at) {
  TaskGraph result = graph;
  if (graph.device.eager_loading || !LoadAdder(result, at).run()) return std::nullopt;
  return result;
}

void add_context_locks(TaskGraph& graph) {
  if (has_loads(graph)) ContextLocks(graph).run();
}

}  // namespace pipesim::models
