#include "models/measure/pipeline_report.hpp"

#include <algorithm>

#include "models/measure/memory.hpp"
#include "models/schedules/pipeline_acts.hpp"

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
        acts_(*graph.pipeline, lowered),
        plan_(lowered.plan),
        outcome_(outcome) {}

  PipelineReport run() {
    PipelineReport report;
    report.has_memory = pipeline_.has_memory;
    report.ranks.resize(pipeline_.rank_count());
    std::vector<std::int64_t> ends(report.ranks.size(), 0);  // of what each rank computes
    const RankSet pipelines = pipeline_.ranks_of_rows().front();
    for (const std::uint32_t first : pipelines) {
      if (!was_run(first)) continue;
      collect_ends(first, report.makespan_ns);
      for (std::uint32_t row = 0; row < schedule_.ranks.size(); ++row) {
        const std::uint32_t rank = first + row * pipeline_.stride;
        report.ranks[rank] = rank_report(rank, ends[rank]);
      }
    }
    for (std::uint32_t rank = 0; folding_ != nullptr && rank < ends.size(); ++rank) {
      report.ranks[rank] = report.ranks[folding_->stands_for[rank]];
      ends[rank] = ends[folding_->stands_for[rank]];
    }
    // How long the whole takes is known now.
    for (std::uint32_t rank = 0; rank < ends.size(); ++rank) {
      report.ranks[rank].idle.finished_ns = report.makespan_ns - ends[rank];
    }
    return report;
  }

 private:
  // Whether ranks of the pipeline that begins at rank `first` were: all of them, as they are each
  // other's peers.
  bool was_run(std::uint32_t first) const {
    if (folding_ == nullptr) return true;
    for (std::uint32_t row = 0; row < schedule_.ranks.size(); ++row) {
      if (folding_->kept.contains(first + row * pipeline_.stride)) return true;
    }
    return false;
  }

  template <typename Visit>
  void for_each_slot(std::uint32_t rank, const Visit& visit) const {
    acts_.for_each_slot(rank, [&](std::size_t slot, const SlotActs& acts) {
      sim::ActTimes times = outcome_.act_times.of(acts.first, acts.k);
      times.end = outcome_.act_times.of(acts.last, acts.k).end;
      // Where it begins with a call, its first part that computes may be earlier.
      if (const sim::ActorId part = first_that_computes(plan_, acts); part.valid()) {
        times.start = std::min(times.start, outcome_.act_times.of(part, acts.k).start);
      }
      visit(slot, times);
    });
  }

  std::size_t index(const Action& action) const { return schedule_.index(action); }

  // Of the pipeline that begins at rank `first`.
  void collect_ends(std::uint32_t first, std::int64_t& makespan) {
    forward_end_.assign(schedule_.index_count(), 0);
    gradient_end_.assign(schedule_.index_count(), 0);
    for (std::uint32_t row = 0; row < schedule_.ranks.size(); ++row) {
      const Actions& actions = schedule_.ranks[row];
      for_each_slot(
          first + row * pipeline_.stride, [&](std::size_t slot, const sim::ActTimes& times) {
            if (!has_micro_batch(actions[slot].kind)) return;
            makespan = std::max(makespan, times.end.ns);
            for (std::size_t i = slot; i < slot_end(actions, slot); ++i) {
              const ActionKind kind = actions[i].kind;
              if (kind == ActionKind::kForward) forward_end_[index(actions[i])] = times.end.ns;
              const bool gradient = kind == ActionKind::kInputGrad || kind == ActionKind::kBackward;
              if (gradient) gradient_end_[index(actions[i])] = times.end.ns;
            }
          });
    }
  }

  // All but the time behind its last action, which ends at `now`.
  PipelineRank rank_report(std::uint32_t rank, std::int64_t& now) const {
    PipelineRank result;
    bool first = true;
    const Actions& actions = acts_.row(rank);
    for_each_slot(rank, [&](std::size_t slot, const sim::ActTimes& act) {
      if (!is_compute(actions[slot].kind)) return;
      if (first) {
        result.idle.start_ns = act.start.ns;
      } else {
        add_gap(rank, slot, now, act, result.idle);
      }
      first = false;
      result.busy_ns += act.end.ns - act.start.ns;
      now = act.end.ns;
    });
    const ActivationMemory activations = activation_memory(pipeline_, rank);
    result.peak_activations = activations.most;
    result.peak_bytes = weight_memory(pipeline_, rank) + activations.most_bytes;
    return result;
  }

  // The time from `now` to the start of the slot: first what it needs was not computed, then the
  // host had not launched it, and what is left the message took.
  void add_gap(std::uint32_t rank, std::size_t slot, std::int64_t now, const sim::ActTimes& act,
               IdleTime& idle) const {
    if (act.start.ns == now) return;
    std::int64_t input = 0;
    std::int64_t gradient = 0;
    const Actions& actions = acts_.row(rank);
    for (std::size_t i = slot; i < slot_end(actions, slot); ++i) {
      const Action& part = actions[i];
      Action from = part;
      if (part.kind == ActionKind::kForward && part.stage % depth_ != 0) {
        --from.stage;
        input = std::max(input, forward_end_[index(from)]);
      }
      const bool is_gradient =
          part.kind == ActionKind::kInputGrad || part.kind == ActionKind::kBackward;
      if (is_gradient && (part.stage + 1) % depth_ != 0) {
        ++from.stage;
        gradient = std::max(gradient, gradient_end_[index(from)]);
      }
    }
    const auto take_until = [&](std::int64_t time) {
      const std::int64_t taken = std::max<std::int64_t>(0, std::min(time, act.start.ns) - now);
      now += taken;
      return taken;
    };
    if (gradient >= input) {
      idle.gradient_ns += take_until(gradient);
    } else {
      idle.input_ns += take_until(input);
    }
    idle.host_ns += take_until(act.launch.ns);
    idle.message_ns += take_until(act.start.ns);
  }

  const RankFolding* folding_;
  const Pipeline& pipeline_;
  const Schedule& schedule_;
  std::uint32_t depth_;  // stages of one pipeline
  PipelineActs acts_;
  const sim::Plan& plan_;
  const sim::Outcome& outcome_;
  std::vector<std::int64_t> forward_end_;
  std::vector<std::int64_t> gradient_end_;
};

}  // namespace

std::vector<sim::ActorId> actors_without_compute(const Pipeline& pipeline, const Lowered& lowered) {
  sim::IdVector<sim::ActorId, std::uint8_t> computes(lowered.plan.actors.size(), 0);
  const PipelineActs all(pipeline, lowered);
  for (std::uint32_t rank = 0; rank < pipeline.rank_count(); ++rank) {
    const Actions& actions = all.row(rank);
    all.for_each_slot(rank, [&](std::size_t slot, const SlotActs& acts) {
      if (!is_compute(actions[slot].kind)) return;
      computes[acts.first] = 1;
      computes[acts.last] = 1;
      const sim::ActorId part = first_that_computes(lowered.plan, acts);
      if (part.valid()) computes[part] = 1;
    });
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
      graph.pipeline && outcome.end == sim::RunEnd::kCompleted && !outcome.act_times.empty();
  if (!known) return std::nullopt;
  return Report(graph, lowered, outcome, folding).run();
}

}  // namespace pipesim::models
