// Memory of ranks over time. Each use of a slot changes the memory in use twice, at its beginning
// and at its end. The sum of all changes up to a time is the memory in use.
#include "models/result/memory.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "models/graph/action_set.hpp"
#include "models/schedules/pipeline_ops.hpp"

namespace pipesim::models {
namespace {

using sim::ActorId;
using sim::EdgeId;
using sim::RegisterId;

// The end of a use that lasts until the end of the run.
constexpr std::int64_t kOpen = std::numeric_limits<std::int64_t>::max();

// Order of changes at the same time: memory is returned before memory is taken. Changes of a
// schedule (some take no time) keep the order of the row.
constexpr std::uint32_t kGivenBack = 0;
constexpr std::uint32_t kFirstOfRow = 1;
constexpr std::uint32_t kTaken = std::numeric_limits<std::uint32_t>::max();

struct Change {
  std::int64_t time_ns = 0;
  std::uint32_t turn = 0;
  std::int64_t bytes = 0;
};

// Calls `visit` for each of `actions` from `begin` to `end` that keeps or drops the activations of
// a micro-batch. Passes whether the action keeps the activations, the action, and the bytes of the
// activations.
template <typename Visit>
void visit_activations(const Pipeline& pipeline, const Actions& actions, std::size_t begin,
                       std::size_t end, const Visit& visit) {
  for (std::size_t i = begin; i < end; ++i) {
    const ActionKind kind = actions[i].kind;
    const bool keeps = kind == ActionKind::kForward;
    const bool drops = kind == ActionKind::kBackward || kind == ActionKind::kWeightGrad;
    if (!keeps && !drops) continue;
    visit(keeps, actions[i],
          pipeline.cost(actions[i].stage, actions[i].micro_batch).activation_bytes);
  }
}

// Calls `visit` with the bytes of each activation that a row of a partial schedule drops but did
// not create.
template <typename Visit>
void visit_held_before(const Pipeline& pipeline, const Actions& row, const Visit& visit) {
  if (!pipeline.schedule.partial) return;
  ActionSet here(pipeline.schedule);
  for (const Action& action : row) {
    if (action.kind == ActionKind::kForward) here.add(action);
  }
  visit_activations(
      pipeline, row, 0, row.size(), [&](bool keeps, const Action& action, std::int64_t bytes) {
        const Action made{ActionKind::kForward, false, action.stage, action.micro_batch};
        if (!keeps && !here.has(made)) visit(bytes);
      });
}

// The set of stages whose weights a row has gathered at some point of the row.
class Gathered {
 public:
  Gathered(const Pipeline& pipeline, const Actions& row) : pipeline_(pipeline) {
    std::set<std::uint32_t> seen;
    for (const Action& action : row) {
      const bool drops = action.kind == ActionKind::kReshard;
      if (!drops && action.kind != ActionKind::kUnshard) continue;
      if (seen.insert(action.stage).second && drops) before_ += set(action.stage, true);
    }
  }

  /// Returns the bytes of weights that are in use from the start: the row drops these weights
  /// before it gathers them, if it does.
  std::int64_t before() const { return before_; }

  /// Returns the change of the bytes in use by this action.
  std::int64_t change(const Action& action) {
    if (action.kind == ActionKind::kUnshard) return set(action.stage, true);
    return action.kind == ActionKind::kReshard ? set(action.stage, false) : 0;
  }

 private:
  std::int64_t set(std::uint32_t stage, bool there) {
    const bool changes = there ? stages_.insert(stage).second : stages_.erase(stage) > 0;
    const std::int64_t bytes = changes ? pipeline_.cost(stage, 0).unsharded_bytes : 0;
    return there ? bytes : -bytes;
  }

  const Pipeline& pipeline_;
  std::set<std::uint32_t> stages_;
  std::int64_t before_ = 0;
};

class Memory {
 public:
  /// Computes the memory of `outcome`. `counts`: whether to count slots and activations instead of
  /// bytes.
  Memory(const TaskGraph& graph, const Lowered& lowered, const sim::Outcome& outcome, bool counts)
      : graph_(graph), plan_(lowered.plan), lowered_(lowered), outcome_(outcome), counts_(counts) {
    if (graph.pipeline) ops_.emplace(*graph.pipeline, lowered);
  }

  MemoryReport run() {
    MemoryReport report;
    report.reserve(graph_.ranks);
    for (std::uint32_t rank = 0; rank < graph_.ranks; ++rank) {
      report.push_back(of_rank(rank));
      find_peak(report.back());
    }
    return report;
  }

  MemoryUse steps() {
    MemoryUse result;
    result.in_bytes = !counts_;
    result.ranks.reserve(graph_.ranks);
    for (std::uint32_t rank = 0; rank < graph_.ranks; ++rank) {
      const RankMemory of = of_rank(rank);
      result.held.push_back(counts_ ? 0 : of.held);
      std::vector<MemoryStep> steps = {{0, result.held.back()}};
      for (const Change& change : changes_) {
        const std::int64_t used = steps.back().used + change.bytes;
        if (change.time_ns > steps.back().time_ns) {
          steps.push_back({change.time_ns, used});
        } else {
          steps.back().used = used;
        }
      }
      result.ranks.push_back(std::move(steps));
    }
    return result;
  }

 private:
  // Computes the memory of a rank without its peak, and fills `changes_` in order of time.
  RankMemory of_rank(std::uint32_t rank) {
    RankMemory result;
    changes_.clear();
    if (graph_.memory) result.held = graph_.memory->value(rank).value_or(0);
    if (graph_.pipeline) result.held += weight_memory(*graph_.pipeline, rank);
    result.reserved = result.held;
    // Actors are sorted by rank.
    for (; next_ < plan_.actors.size(); ++next_) {
      const ActorId id{next_};
      if (plan_.actors[id].rank.value != rank) break;
      for (const RegisterId reg : plan_.registers_of(id)) add_register(reg, result);
    }
    if (graph_.pipeline) add_activations(rank, result);
    std::stable_sort(changes_.begin(), changes_.end(), [](const Change& a, const Change& b) {
      return std::pair(a.time_ns, a.turn) < std::pair(b.time_ns, b.turn);
    });
    return result;
  }

  void find_peak(RankMemory& result) const {
    result.peak = result.held;
    std::int64_t now = result.held;
    for (const Change& change : changes_) {
      now += change.bytes;
      if (now <= result.peak) continue;
      result.peak = now;
      result.peak_ns = change.time_ns;
    }
  }

  void add_register(RegisterId id, RankMemory& result) {
    const sim::Register& reg = plan_.registers[id];
    const ActorTemplate& producer = graph_.actors[lowered_.actor_template[reg.producer]];
    const std::uint32_t index = lowered_.register_template[id];
    const Boxed<Expr>& size = producer.registers[index].bytes;
    if (!(size || counts_) || (index == 0 && producer.in_place && reads_data(reg.producer))) return;
    if (counts_ && reg.control) return;  // control registers hold no data
    const std::int64_t bytes =
        counts_ ? 1 : size->value(plan_.actors[reg.producer].rank.value).value_or(0);
    result.reserved += bytes * reg.slots;
    const std::uint32_t ops = plan_.actors[reg.producer].ops;
    for (std::uint32_t slot = 0; slot * std::uint64_t{reg.ops_per_slot} < ops; ++slot) {
      const std::int64_t begin = begin_of(reg, slot);
      if (begin == sim::kNever.ns) break;
      const std::int64_t end = end_of(id, slot);
      if (begin >= end) continue;
      changes_.push_back({begin, kTaken, bytes});
      if (end != kOpen) changes_.push_back({end, kGivenBack, -bytes});
    }
  }

  bool reads_data(ActorId id) const {
    const sim::Actor& actor = plan_.actors[id];
    return std::any_of(
        plan_.inputs.begin() + actor.inputs, plan_.inputs.begin() + actor.inputs_end,
        [&](EdgeId edge) { return !plan_.registers[plan_.edges[edge].source].control; });
  }

  // Returns the time at which the use of a slot begins: the launch of the first op that fills the
  // slot, which takes a credit. A register without readers takes no credit, so its use begins at
  // the start of the op.
  std::int64_t begin_of(const sim::Register& reg, std::uint32_t slot) const {
    const sim::OpTimes& first = times(reg.producer, slot * std::uint64_t{reg.ops_per_slot});
    return (reg.edges == reg.edges_end ? first.start : first.launch).ns;
  }

  std::int64_t end_of(RegisterId id, std::uint32_t slot) const {
    const sim::Register& reg = plan_.registers[id];
    const std::uint64_t next = (slot + std::uint64_t{1}) * reg.ops_per_slot;
    if (reg.edges == reg.edges_end) {
      return or_open(
          times(reg.producer, std::min<std::uint64_t>(next, plan_.actors[reg.producer].ops) - 1)
              .end);
    }
    std::int64_t end = 0;
    for (const EdgeId edge : plan_.edges_of(id)) end = std::max(end, given_back(edge, slot));
    return end;
  }

  // Returns the time at which a reader acknowledges a slot.
  std::int64_t given_back(EdgeId id, std::uint32_t slot) const {
    const sim::Edge& edge = plan_.edges[id];
    if (edge.in_place.valid()) return end_of(edge.in_place, slot);
    const std::uint64_t last = (slot + std::uint64_t{1}) * edge.ops_per_slot - 1;
    if (last >= plan_.actors[edge.consumer].ops) return kOpen;
    const sim::OpTimes& op = times(edge.consumer, last);
    return or_open(edge.ack_at_launch ? op.launch : op.end);
  }

  static std::int64_t or_open(sim::Time time) { return time == sim::kNever ? kOpen : time.ns; }

  const sim::OpTimes& times(ActorId id, std::uint64_t k) const {
    return outcome_.op_times.of(id, k);
  }

  void add_activations(std::uint32_t rank, RankMemory& result) {
    const Pipeline& pipeline = *graph_.pipeline;
    result.reserved += activation_memory(pipeline, rank).most_bytes;
    const Actions& row = ops_->row(rank);
    visit_held_before(pipeline, row, [&](std::int64_t bytes) {
      changes_.push_back({0, 0, counts_ ? 1 : bytes});
    });
    Gathered gathered(pipeline, row);
    if (!counts_ && gathered.before() > 0) changes_.push_back({0, 0, gathered.before()});
    sim::Time computed;  // end of the row's computations so far
    bool is_stuck = false;
    ops_->for_each_slot(rank, [&](std::size_t slot, const SlotOps& ops) {
      const sim::Time start = times(ops.first, ops.k).start;
      const sim::Time end = times(ops.last, ops.k).end;
      const auto turn = kFirstOfRow + static_cast<std::uint32_t>(slot);
      const bool unshard = row[slot].kind == ActionKind::kUnshard;
      const sim::Time time = unshard ? std::max(start, computed) : end;
      const bool is_done = time != sim::kNever && start != sim::kNever && !is_stuck;
      const std::int64_t weights = gathered.change(row[slot]);
      if (weights != 0 && !counts_ && is_done) {
        changes_.push_back({time.ns, turn, weights});
      }
      if (is_compute(row[slot].kind) || row[slot].kind == ActionKind::kReshard) {
        computed = std::max(computed, end);
        is_stuck = is_stuck || end == sim::kNever;
      }
      visit_activations(pipeline, row, slot, slot_end(row, slot),
                        [&](bool keeps, const Action&, std::int64_t bytes) {
                          const sim::Time at = keeps ? start : end;
                          if (at == sim::kNever) return;
                          const std::int64_t size = counts_ ? 1 : bytes;
                          changes_.push_back({at.ns, turn, keeps ? size : -size});
                        });
    });
  }

  const TaskGraph& graph_;
  const sim::Plan& plan_;
  const Lowered& lowered_;
  const sim::Outcome& outcome_;
  std::optional<PipelineOps> ops_;
  bool counts_;
  std::uint32_t next_ = 0;       // first actor of the next rank
  std::vector<Change> changes_;  // changes of the current rank
};

}  // namespace

bool has_sizes_beside_schedule(const TaskGraph& graph) {
  if (graph.memory) return true;
  return std::any_of(graph.actors.begin(), graph.actors.end(), [](const ActorTemplate& actor) {
    return std::any_of(actor.registers.begin(), actor.registers.end(),
                       [](const RegisterTemplate& reg) { return reg.bytes.has_value(); });
  });
}

bool has_sizes(const TaskGraph& graph) {
  return (graph.pipeline && graph.pipeline->has_memory) || has_sizes_beside_schedule(graph);
}

std::optional<MemoryReport> memory_report(const TaskGraph& graph, const Lowered& lowered,
                                          const sim::Outcome& outcome) {
  if (outcome.op_times.empty() || !has_sizes(graph)) return std::nullopt;
  return Memory(graph, lowered, outcome, false).run();
}

MemoryUse memory_over_time(const TaskGraph& graph, const Lowered& lowered,
                           const sim::Outcome& outcome) {
  return Memory(graph, lowered, outcome, !has_sizes(graph)).steps();
}

ActivationMemory activation_memory(const Pipeline& pipeline, std::uint32_t rank) {
  ActivationMemory result;
  std::uint32_t count = 0;
  std::int64_t now = 0;
  const Actions& row = pipeline.schedule.ranks[pipeline.row_of(rank)];
  visit_held_before(pipeline, row, [&](std::int64_t bytes) {
    ++count;
    now += bytes;
  });
  Gathered gathered(pipeline, row);
  now += gathered.before();
  result.most = count;
  result.most_bytes = now;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (is_message(row[i].kind)) continue;  // skips the majority of actions early
    now += gathered.change(row[i]);
    visit_activations(pipeline, row, i, i + 1, [&](bool keeps, const Action&, std::int64_t bytes) {
      count = keeps ? count + 1 : count - 1;
      now += keeps ? bytes : -bytes;
    });
    result.most = std::max(result.most, count);
    result.most_bytes = std::max(result.most_bytes, now);
  }
  return result;
}

std::int64_t weight_memory(const Pipeline& pipeline, std::uint32_t rank) {
  std::int64_t bytes = 0;
  for (std::uint32_t stage = 0; stage < pipeline.schedule.stages; ++stage) {
    if (pipeline.schedule.rank_of_stage[stage] == pipeline.row_of(rank))
      bytes += pipeline.cost(stage, 0).weight_bytes;
  }
  return bytes;
}

}  // namespace pipesim::models
