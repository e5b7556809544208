#include "models/result/pipeline_report.hpp"

#include <algorithm>

#include "models/result/memory.hpp"
#include "models/schedules/pipeline_ops.hpp"

namespace pipesim::models {
namespace {

class Report {
 public:
  Report(const TaskGraph& graph, const Lowered& lowered, const sim::Outcome& outcome,
         const RankFolding* folding)
      : folding_(folding),
        pipeline_(*graph.pipeline),
        schedule_(graph.pipeline->schedule),
        depth_(std::max<std::uint32_t>(1, graph.pipeline->schedule.depth())),
        ops_(*graph.pipeline, lowered),
        plan_(lowered.plan),
        outcome_(outcome) {}

  PipelineReport run() {
    PipelineReport report;
    report.has_memory = pipeline_.has_memory;
    report.ranks.resize(pipeline_.rank_count());
    std::vector<std::int64_t> ends(report.ranks.size(), 0);  // by rank: end of its computations
    const RankSet pipelines = pipeline_.ranks_of_rows().front();
    for (const std::uint32_t first : pipelines) {
      if (!was_run(first)) continue;
      forward_end_.assign(schedule_.index_count(), kUnknown);
      gradient_end_.assign(schedule_.index_count(), kUnknown);
      gaps_.clear();
      // Visits rows in reverse: in most gaps, a rank waits for a gradient from the next row.
      for (auto row = static_cast<std::uint32_t>(schedule_.ranks.size()); row-- > 0;) {
        const std::uint32_t rank = first + row * pipeline_.stride;
        report.ranks[rank] = rank_report(rank, ends[rank], report.makespan_ns);
      }
      for (const Gap& gap : gaps_) add_gap(gap, inputs_of(gap), report.ranks[gap.rank].idle);
    }
    for (std::uint32_t rank = 0; folding_ != nullptr && rank < ends.size(); ++rank) {
      report.ranks[rank] = report.ranks[folding_->stands_for[rank]];
      ends[rank] = ends[folding_->stands_for[rank]];
    }
    // The makespan is known only now, after all ranks.
    for (std::uint32_t rank = 0; rank < ends.size(); ++rank) {
      report.ranks[rank].idle.finished_ns = report.makespan_ns - ends[rank];
    }
    return report;
  }

 private:
  static constexpr std::int64_t kUnknown = -1;

  // The idle time of a rank before a slot.
  struct Gap {
    std::uint32_t rank = 0;
    std::uint32_t slot = 0;
    std::int64_t begin_ns = 0;
    std::int64_t launch_ns = 0;  // launch of the slot
    std::int64_t end_ns = 0;
  };

  // Whether the run includes the pipeline that begins at rank `first`. A pipeline is kept or folded
  // as a whole, because its ranks are peers.
  bool was_run(std::uint32_t first) const {
    if (folding_ == nullptr) return true;
    for (std::uint32_t row = 0; row < schedule_.ranks.size(); ++row) {
      if (folding_->kept.contains(first + row * pipeline_.stride)) return true;
    }
    return false;
  }

  sim::OpTimes times_of(const SlotOps& ops) const {
    sim::OpTimes times = outcome_.op_times.of(ops.first, ops.k);
    if (ops.first == ops.last) return times;
    times.end = outcome_.op_times.of(ops.last, ops.k).end;
    // If the slot begins with a call, the first part that computes can start before the call.
    if (const sim::ActorId part = first_that_computes(plan_, ops); part.valid()) {
      times.start = std::min(times.start, outcome_.op_times.of(part, ops.k).start);
    }
    return times;
  }

  std::size_t index(const Action& action) const { return schedule_.index(action); }

  // Stores the end of a slot as the time at which its results are computed.
  void keep_end(const Actions& actions, std::size_t slot, std::int64_t end) {
    for (std::size_t i = slot; i < slot_end(actions, slot); ++i) {
      const ActionKind kind = actions[i].kind;
      if (kind == ActionKind::kForward) forward_end_[index(actions[i])] = end;
      if (gives_gradient(kind)) gradient_end_[index(actions[i])] = end;
    }
  }

  // Returns the report of `rank`, without the gaps that it defers to `gaps_` and without the idle
  // time after the last computation. Stores the end of the last computation in `now`, and raises
  // `makespan`.
  PipelineRank rank_report(std::uint32_t rank, std::int64_t& now, std::int64_t& makespan) {
    PipelineRank result;
    bool first = true;
    const Actions& actions = ops_.row(rank);
    ops_.for_each_slot(rank, [&](std::size_t slot, const SlotOps& ops) {
      if (!has_micro_batch(actions[slot].kind)) return;
      makespan = std::max(makespan, outcome_.op_times.of(ops.last, ops.k).end.ns);
      if (!is_compute(actions[slot].kind)) return;
      const sim::OpTimes op = times_of(ops);
      keep_end(actions, slot, op.end.ns);
      if (first) {
        result.idle.start_ns = op.start.ns;
      } else if (op.start.ns != now) {
        const Gap gap{rank, static_cast<std::uint32_t>(slot), now, op.launch.ns, op.start.ns};
        const Inputs inputs = inputs_of(gap);
        if (inputs.are_known) {
          add_gap(gap, inputs, result.idle);
        } else {
          gaps_.push_back(gap);
        }
      }
      first = false;
      result.busy_ns += op.end.ns - op.start.ns;
      now = op.end.ns;
    });
    const ActivationMemory activations = activation_memory(pipeline_, rank);
    result.peak_activations = activations.most;
    result.peak_bytes = weight_memory(pipeline_, rank) + activations.most_bytes;
    return result;
  }

  // The times at which the inputs of the slot after a gap were computed.
  struct Inputs {
    std::int64_t input = 0;
    std::int64_t gradient = 0;
    // Whether no input comes from a row not visited yet or from before the schedule.
    bool are_known = true;

    void wait_for(std::int64_t& latest, std::int64_t end) {
      latest = std::max(latest, end);
      are_known = are_known && end != kUnknown;
    }
  };

  Inputs inputs_of(const Gap& gap) const {
    Inputs inputs;
    const Actions& actions = ops_.row(gap.rank);
    for (std::size_t i = gap.slot; i < slot_end(actions, gap.slot); ++i) {
      const Action& part = actions[i];
      Action from = part;
      if (part.kind == ActionKind::kForward && part.stage % depth_ != 0) {
        --from.stage;
        inputs.wait_for(inputs.input, forward_end_[index(from)]);
      }
      if (gives_gradient(part.kind) && (part.stage + 1) % depth_ != 0) {
        ++from.stage;
        inputs.wait_for(inputs.gradient, gradient_end_[index(from)]);
      }
    }
    return inputs;
  }

  // Splits a gap by cause, in this order: an input was not computed, the host had not launched the
  // slot, the input was in transit.
  static void add_gap(const Gap& gap, const Inputs& inputs, IdleTime& idle) {
    std::int64_t now = gap.begin_ns;
    const auto take_until = [&](std::int64_t time) {
      const std::int64_t taken = std::max<std::int64_t>(0, std::min(time, gap.end_ns) - now);
      now += taken;
      return taken;
    };
    if (inputs.gradient >= inputs.input) {
      idle.gradient_ns += take_until(inputs.gradient);
    } else {
      idle.input_ns += take_until(inputs.input);
    }
    idle.host_ns += take_until(gap.launch_ns);
    idle.message_ns += take_until(gap.end_ns);
  }

  const RankFolding* folding_;
  const Pipeline& pipeline_;
  const Schedule& schedule_;
  std::uint32_t depth_;  // stages per pipeline
  PipelineOps ops_;
  const sim::Plan& plan_;
  const sim::Outcome& outcome_;
  std::vector<std::int64_t> forward_end_;
  std::vector<std::int64_t> gradient_end_;
  std::vector<Gap> gaps_;  // gaps of one pipeline with inputs from rows that were not visited yet
};

}  // namespace

std::vector<sim::ActorId> actors_without_compute(const Pipeline& pipeline, const Lowered& lowered) {
  const PipelineOps all(pipeline, lowered);
  sim::IdVector<sim::ActorId, std::uint8_t> computes(lowered.plan.actors.size(), 0);
  for (std::uint32_t id = 0; id < computes.size();) {
    const std::uint32_t parts = std::max(1U, all.parts_of(sim::ActorId{id}));
    const SlotOps ops{sim::ActorId{id}, sim::ActorId{id + parts - 1}};
    const sim::ActorId part = first_that_computes(lowered.plan, ops);
    if (part.valid()) computes[ops.first] = computes[ops.last] = computes[part] = 1;
    id += parts;
  }
  std::vector<sim::ActorId> result;
  for (const sim::ActorId id : ids_of(lowered.plan.actors)) {
    if (computes[id] == 0) result.push_back(id);
  }
  return result;
}

std::optional<PipelineReport> pipeline_report(const TaskGraph& graph, const Lowered& lowered,
                                              const sim::Outcome& outcome,
                                              const RankFolding* folding) {
  const bool known =
      graph.pipeline && outcome.end == sim::RunEnd::kCompleted && !outcome.op_times.empty();
  if (!known) return std::nullopt;
  return Report(graph, lowered, outcome, folding).run();
}

}  // namespace pipesim::models
