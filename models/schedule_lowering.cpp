#include "models/schedule_lowering.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace pipesim::models {
namespace {

constexpr std::size_t kStagesAhead = 3;

/// Which actions a rank has done, looked up by kind, stage and micro-batch.
class Done {
 public:
  void add(const Action& action) {
    done_.emplace(action.kind, action.stage, action.micro_batch);
    for (const Action& part : action.parts) add(part);
  }
  bool has(ActionKind kind, std::uint32_t stage, std::uint32_t micro_batch) const {
    return done_.count({kind, stage, micro_batch}) > 0;
  }
  bool has_gradient(std::uint32_t stage, std::uint32_t micro_batch) const {
    return has(ActionKind::kInputGrad, stage, micro_batch) ||
           has(ActionKind::kBackward, stage, micro_batch);
  }

 private:
  std::set<std::tuple<ActionKind, std::uint32_t, std::uint32_t>> done_;
};

bool gives_gradient(ActionKind kind) {
  return kind == ActionKind::kInputGrad || kind == ActionKind::kBackward;
}

// What a forward or backward needs from another stage has come by message, or was done here.
bool has_inputs(const Schedule& schedule, const Action& action, const Done& done) {
  const std::uint32_t stage = action.stage;
  const std::uint32_t m = action.micro_batch;
  if (action.kind == ActionKind::kForward && !schedule.is_first(stage)) {
    return done.has(ActionKind::kRecvForward, stage, m) ||
           done.has(ActionKind::kForward, stage - 1, m);
  }
  if (gives_gradient(action.kind) && !schedule.is_last(stage)) {
    return done.has(ActionKind::kRecvBackward, stage, m) || done.has_gradient(stage + 1, m);
  }
  return true;
}

class SendRecv {
 public:
  explicit SendRecv(const Schedule& from)
      : from_(from), next_(from.ranks.size(), 0), done_(from.ranks.size()), result_(from) {
    for (Actions& actions : result_.ranks) actions.clear();
  }

  std::optional<Schedule> run(Diagnostics& diagnostics) {
    bool more = true;
    while (more) {
      more = false;
      bool progress = false;
      for (std::uint32_t rank = 0; rank < from_.ranks.size(); ++rank) {
        if (next_[rank] == from_.ranks[rank].size()) continue;
        more = true;
        progress = step(rank) || progress;
      }
      if (more && !progress) {
        complain(diagnostics);
        return std::nullopt;
      }
    }
    return std::move(result_);
  }

 private:
  bool step(std::uint32_t rank) {
    const Action& action = from_.ranks[rank][next_[rank]];
    const std::vector<Action> parts = parts_of(action);
    const bool ready = std::all_of(parts.begin(), parts.end(), [&](const Action& part) {
      return has_inputs(from_, part, done_[rank]);
    });
    if (!ready) return false;
    ++next_[rank];
    if (action.none()) return true;
    result_.ranks[rank].push_back(action);
    for (const Action& part : parts) {
      done_[rank].add(part);
      add_message(rank, part);
    }
    return true;
  }

  void add_message(std::uint32_t rank, const Action& action) {
    const bool forward = action.kind == ActionKind::kForward;
    if (!forward && !gives_gradient(action.kind)) return;
    if (forward ? from_.is_last(action.stage) : from_.is_first(action.stage)) return;
    const std::uint32_t other = forward ? action.stage + 1 : action.stage - 1;
    const std::uint32_t to = from_.rank_of_stage[other];
    if (to == rank) return;
    const ActionKind send = forward ? ActionKind::kSendForward : ActionKind::kSendBackward;
    const ActionKind recv = forward ? ActionKind::kRecvForward : ActionKind::kRecvBackward;
    add(rank, {send, action.stage, action.micro_batch, action.place, {}});
    add(to, {recv, other, action.micro_batch, action.place, {}});
  }

  void add(std::uint32_t rank, Action action) {
    done_[rank].add(action);
    result_.ranks[rank].push_back(std::move(action));
  }

  void complain(Diagnostics& diagnostics) const {
    for (std::uint32_t rank = 0; rank < from_.ranks.size(); ++rank) {
      if (next_[rank] == from_.ranks[rank].size()) continue;
      const Action& action = from_.ranks[rank][next_[rank]];
      Diagnostic& error = diagnostics.error(
          action.place, "this schedule cannot be done, with whatever messages: rank " +
                            std::to_string(rank) + " comes to '" + action_text(action) +
                            "', and what it needs is never computed");
      for (std::uint32_t other = rank + 1; other < from_.ranks.size(); ++other) {
        if (next_[other] == from_.ranks[other].size()) continue;
        error.notes.push_back("rank " + std::to_string(other) + " stands at '" +
                              action_text(from_.ranks[other][next_[other]]) + "'");
        if (error.notes.size() == 8) break;
      }
      return;
    }
  }

  const Schedule& from_;
  std::vector<std::size_t> next_;
  std::vector<Done> done_;
  Schedule result_;
};

// The stages that a rank works on next, at most `kStagesAhead`, each once. (Both stages of actions
// that overlap count, so there may be one more.)
std::vector<std::uint32_t> next_stages(const Actions& actions, std::size_t from) {
  std::vector<std::uint32_t> stages;
  for (std::size_t i = from; i < actions.size() && stages.size() < kStagesAhead; ++i) {
    for (const Action& part : parts_of(actions[i])) {
      if (std::find(stages.begin(), stages.end(), part.stage) == stages.end()) {
        stages.push_back(part.stage);
      }
    }
  }
  return stages;
}

class DryRun {
 public:
  explicit DryRun(const Schedule& schedule)
      : schedule_(schedule), next_(schedule.ranks.size(), 0), done_(schedule.ranks.size()) {}

  std::optional<std::size_t> run() {
    for (std::size_t steps = 0;; ++steps) {
      bool more = false;
      bool progress = false;
      std::vector<std::uint32_t> idle;
      for (std::uint32_t rank = 0; rank < schedule_.ranks.size(); ++rank) {
        if (next_[rank] == schedule_.ranks[rank].size()) continue;
        more = true;
        if (step(rank)) {
          progress = true;
        } else {
          idle.push_back(rank);
        }
      }
      if (!more) return steps;
      if (!progress) return std::nullopt;
      // What a later rank has just done may let an earlier one go on in the same step.
      for (const std::uint32_t rank : idle) step(rank);
    }
  }

 private:
  bool step(std::uint32_t rank) {
    const Action& action = schedule_.ranks[rank][next_[rank]];
    if (!ready(rank, action)) return false;
    done_[rank].add(action);
    ++next_[rank];
    return true;
  }

  bool ready(std::uint32_t rank, const Action& action) const {
    const std::uint32_t stage = action.stage;
    const std::uint32_t m = action.micro_batch;
    switch (action.kind) {
      case ActionKind::kSendForward:
        return done_[rank].has(ActionKind::kForward, stage, m);
      case ActionKind::kSendBackward:
        return done_[rank].has_gradient(stage, m);
      case ActionKind::kRecvForward:
        return done_[schedule_.rank_of_stage[stage - 1]].has(ActionKind::kSendForward, stage - 1,
                                                             m);
      case ActionKind::kRecvBackward:
        return done_[schedule_.rank_of_stage[stage + 1]].has(ActionKind::kSendBackward, stage + 1,
                                                             m);
      case ActionKind::kUnshard:
      case ActionKind::kReshard:
      case ActionKind::kReduceGrad:
      case ActionKind::kOverlap:
        return false;
      default:
        return has_inputs(schedule_, action, done_[rank]);
    }
  }

  const Schedule& schedule_;
  std::vector<std::size_t> next_;
  std::vector<Done> done_;
};

}  // namespace

Schedule merge_backwards(const Schedule& schedule) {
  Schedule result = without_empty(schedule);
  for (Actions& actions : result.ranks) {
    Actions merged;
    for (const Action& action : actions) {
      const bool pair = action.kind == ActionKind::kWeightGrad && !merged.empty() &&
                        merged.back().kind == ActionKind::kInputGrad &&
                        merged.back().stage == action.stage &&
                        merged.back().micro_batch == action.micro_batch;
      if (pair) {
        merged.back().kind = ActionKind::kBackward;
      } else {
        merged.push_back(action);
      }
    }
    actions = std::move(merged);
  }
  return result;
}

Schedule add_unshard_reshard(const Schedule& schedule) {
  Schedule result = without_empty(schedule);
  for (Actions& actions : result.ranks) {
    Actions with;
    std::set<std::uint32_t> active;
    const auto add = [&](ActionKind kind, std::uint32_t stage, Place place) {
      with.push_back({kind, stage, 0, place, {}});
    };
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const std::vector<std::uint32_t> next = next_stages(actions, i);
      std::set<std::uint32_t> kept;
      for (const std::uint32_t stage : active) {
        if (std::find(next.begin(), next.end(), stage) != next.end()) {
          kept.insert(stage);
        } else {
          add(ActionKind::kReshard, stage, actions[i].place);
        }
      }
      active = std::move(kept);
      for (const std::uint32_t stage : next) {
        if (active.insert(stage).second) add(ActionKind::kUnshard, stage, actions[i].place);
      }
      with.push_back(actions[i]);
    }
    for (const std::uint32_t stage : active) add(ActionKind::kReshard, stage, with.back().place);
    actions = std::move(with);
  }
  return result;
}

Schedule add_reduce_grad(const Schedule& schedule) {
  Schedule result = without_empty(schedule);
  std::vector<std::uint32_t> done(schedule.stages, 0);
  for (Actions& actions : result.ranks) {
    Actions with;
    for (const Action& action : actions) {
      with.push_back(action);
      for (const Action& part : parts_of(action)) {
        const bool last =
            part.kind == ActionKind::kBackward || part.kind == ActionKind::kWeightGrad;
        if (!last || ++done[part.stage] != schedule.micro_batches) continue;
        with.push_back({ActionKind::kReduceGrad, part.stage, 0, action.place, {}});
      }
    }
    actions = std::move(with);
  }
  return result;
}

std::optional<Schedule> add_send_recv(const Schedule& schedule, Diagnostics& diagnostics) {
  return SendRecv(schedule).run(diagnostics);
}

std::optional<std::size_t> dry_run_steps(const Schedule& schedule) {
  const Schedule plain = without_empty(schedule);
  return DryRun(plain).run();
}

}  // namespace pipesim::models
