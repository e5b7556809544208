#include "models/result/remedies.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "models/graph/graph_edit.hpp"
#include "models/lowering/lowering.hpp"
#include "sim/engine.hpp"

namespace pipesim::models {
namespace {

// Returns the index of the waiting actor in TaskGraph::actors. Names are not unique: steps of
// different ranks can share a name.
std::uint32_t template_of(const Lowered& lowered, const Wait& wait) {
  return lowered.actor_template[wait.from.op.actor];
}

class Search {
 public:
  Search(const TaskGraph& graph, const Simulation& hang, std::uint64_t max_ops)
      : graph_(graph), lowered_(hang.lowered), explanation_(hang.explanation), ops_left_(max_ops) {
    options_.jitter = hang.jitter;
  }

  std::vector<Remedy> run() {
    for (const Wait& wait : explanation_.cycle) {
      if (wait.kind == sim::WaitKind::kStreamOrder) try_streams(wait);
      const bool credit = sim::facts(wait.kind).setting == sim::Setting::kSlots;
      if (credit) try_slots(wait);
    }
    return std::move(result_);
  }

 private:
  void try_streams(const Wait& wait);
  void try_slots(const Wait& wait);
  std::int64_t most_ops_of(std::uint32_t index) const;
  bool completes(const TaskGraph& changed);

  const TaskGraph& graph_;
  const Lowered& lowered_;
  const Explanation& explanation_;
  sim::RunOptions options_;
  std::uint64_t ops_left_;
  // Changes tried so far: actor and register, which is empty for a stream change.
  std::set<std::pair<std::uint32_t, std::string>> tried_;
  std::vector<Remedy> result_;
};

bool Search::completes(const TaskGraph& changed) {
  if (explanation_.ops_expected > ops_left_) return false;
  ops_left_ -= explanation_.ops_expected;
  Diagnostics diagnostics;
  const std::optional<Lowered> lowered = lower(changed, diagnostics);
  return lowered && sim::run(lowered->plan, options_).end == sim::RunEnd::kCompleted;
}

void Search::try_streams(const Wait& wait) {
  const std::uint32_t index = template_of(lowered_, wait);
  if (!tried_.emplace(index, "").second) return;
  const ActorTemplate& actor = graph_.actors[index];
  for (const std::uint32_t stream : streams_fed_by(graph_, index)) {
    if (stream == kNoIndex || stream == actor.stream) continue;
    TaskGraph changed = graph_;
    changed.actors[index].stream = stream;
    changed.actors[index].thread = kNoIndex;
    if (!completes(changed)) continue;
    Remedy remedy;
    remedy.op = actor.name;
    remedy.from_stream = wait.from.op.stream;
    remedy.to_stream = graph_.streams[stream].name;
    result_.push_back(std::move(remedy));
  }
}

std::int64_t Search::most_ops_of(std::uint32_t index) const {
  std::int64_t most = 0;
  for (const sim::ActorId id : sim::ids_of(lowered_.plan.actors)) {
    if (lowered_.actor_template[id] != index) continue;
    most = std::max<std::int64_t>(most, lowered_.plan.actors[id].ops);
  }
  return most;
}

// Tries the maximum number of slots first, then finds the smallest number that works. Slots beyond
// the number of ops that fill the register never help; if the maximum does not help, no smaller
// number does.
void Search::try_slots(const Wait& wait) {
  const std::uint32_t index = template_of(lowered_, wait);
  if (!tried_.emplace(index, wait.reg).second) return;
  const ActorTemplate& actor = graph_.actors[index];
  const auto reg = std::find_if(actor.registers.begin(), actor.registers.end(),
                                [&](const RegisterTemplate& r) { return r.name == wait.reg; });
  if (reg == actor.registers.end()) return;
  const std::int64_t before = reg->slots.value(wait.from.rank).value_or(1);
  const auto with_slots = [&](std::int64_t slots) {
    TaskGraph changed = graph_;
    changed.actors[index].registers[static_cast<std::size_t>(reg - actor.registers.begin())].slots =
        Expr::constant(slots);
    return completes(changed);
  };
  std::int64_t enough = std::max(before, most_ops_of(index));
  if (enough == before || !with_slots(enough)) return;
  std::int64_t too_few = before;
  while (enough - too_few > 1) {
    const std::int64_t middle = too_few + (enough - too_few) / 2;
    (with_slots(middle) ? enough : too_few) = middle;
  }
  Remedy remedy;
  remedy.kind = Remedy::Kind::kSlots;
  remedy.op = actor.name;
  remedy.reg = reg->name;
  remedy.slots_before = before;
  remedy.slots = enough;
  result_.push_back(std::move(remedy));
}

}  // namespace

std::vector<Misplacement> find_misplacements(const TaskGraph& graph, const Simulation& hang) {
  std::vector<Misplacement> result;
  for (const Wait& wait : hang.explanation.cycle) {
    if (wait.kind != sim::WaitKind::kStreamOrder) continue;
    const std::uint32_t index = template_of(hang.lowered, wait);
    const std::vector<std::uint32_t> feeds = streams_fed_by(graph, index);
    const bool elsewhere = feeds.size() == 1 && feeds.front() != kNoIndex &&
                           feeds.front() != graph.actors[index].stream;
    if (!elsewhere) continue;
    result.push_back({wait.from.op, wait.to.op, graph.streams[feeds.front()].name});
  }
  return result;
}

std::vector<Remedy> find_remedies(const TaskGraph& graph, const Simulation& hang,
                                  std::uint64_t max_ops) {
  return Search(graph, hang, max_ops).run();
}

}  // namespace pipesim::models
