#include "models/explain/remedies.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "models/graph/graph_edit.hpp"
#include "models/lowering/lowering.hpp"
#include "sim/engine.hpp"

namespace pipesim::models {
namespace {

std::uint32_t actor_named(const TaskGraph& graph, const std::string& name) {
  const auto found = std::find_if(graph.actors.begin(), graph.actors.end(),
                                  [&](const ActorTemplate& actor) { return actor.name == name; });
  return found == graph.actors.end() ? kNoIndex
                                     : static_cast<std::uint32_t>(found - graph.actors.begin());
}

class Search {
 public:
  Search(const TaskGraph& graph, const Explanation& explanation, const sim::Jitter& jitter,
         std::uint64_t most_acts)
      : graph_(graph), explanation_(explanation), acts_left_(most_acts) {
    options_.jitter = jitter;
  }

  std::vector<Remedy> run() {
    for (const Wait& wait : explanation_.cycle) {
      if (wait.kind == sim::WaitKind::kStreamOrder) try_streams(wait);
      const bool credit =
          wait.kind == sim::WaitKind::kCreditData || wait.kind == sim::WaitKind::kCreditControl;
      if (credit) try_slots(wait);
    }
    return std::move(result_);
  }

 private:
  void try_streams(const Wait& wait);
  void try_slots(const Wait& wait);
  bool completes(const TaskGraph& changed);

  const TaskGraph& graph_;
  const Explanation& explanation_;
  sim::RunOptions options_;
  std::uint64_t acts_left_;
  std::set<std::string> tried_;
  std::vector<Remedy> result_;
};

bool Search::completes(const TaskGraph& changed) {
  if (explanation_.acts_expected > acts_left_) return false;
  acts_left_ -= explanation_.acts_expected;
  Diagnostics diagnostics;
  const std::optional<Lowered> lowered = lower(changed, diagnostics);
  return lowered && sim::run(lowered->plan, options_).end == sim::RunEnd::kCompleted;
}

void Search::try_streams(const Wait& wait) {
  const std::uint32_t index = actor_named(graph_, wait.from.act.op);
  if (index == kNoIndex || !tried_.insert(wait.from.act.op).second) return;
  const ActorTemplate& actor = graph_.actors[index];
  for (const std::uint32_t stream : streams_fed_by(graph_, index)) {
    if (stream == kNoIndex || stream == actor.stream) continue;
    TaskGraph changed = graph_;
    changed.actors[index].stream = stream;
    changed.actors[index].thread = kNoIndex;
    if (!completes(changed)) continue;
    Remedy remedy;
    remedy.op = actor.name;
    remedy.from_stream = wait.from.act.stream;
    remedy.to_stream = graph_.streams[stream].name;
    result_.push_back(std::move(remedy));
  }
}

// More credits than a register is ever filled help no more than as many, and what many cannot do
// few cannot: try many first, then the fewest.
void Search::try_slots(const Wait& wait) {
  const std::uint32_t index = actor_named(graph_, wait.from.act.op);
  if (index == kNoIndex || !tried_.insert(wait.from.act.op + "." + wait.reg).second) return;
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
  std::int64_t enough = before;
  for (const RankReport& rank : explanation_.ranks) {
    for (const ActorCounts& counts : rank.actors) {
      if (counts.name == actor.name) enough = std::max<std::int64_t>(enough, counts.expected);
    }
  }
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

std::vector<Misplacement> find_misplacements(const TaskGraph& graph,
                                             const Explanation& explanation) {
  std::vector<Misplacement> result;
  for (const Wait& wait : explanation.cycle) {
    if (wait.kind != sim::WaitKind::kStreamOrder) continue;
    const std::uint32_t index = actor_named(graph, wait.from.act.op);
    if (index == kNoIndex) continue;
    const std::vector<std::uint32_t> feeds = streams_fed_by(graph, index);
    const bool elsewhere = feeds.size() == 1 && feeds.front() != kNoIndex &&
                           feeds.front() != graph.actors[index].stream;
    if (!elsewhere) continue;
    result.push_back({wait.from.act, wait.to.act, graph.streams[feeds.front()].name});
  }
  return result;
}

std::vector<Remedy> find_remedies(const TaskGraph& graph, const Explanation& explanation,
                                  const sim::Jitter& jitter, std::uint64_t most_acts) {
  return Search(graph, explanation, jitter, most_acts).run();
}

}  // namespace pipesim::models
