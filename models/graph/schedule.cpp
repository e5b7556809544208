#include "models/graph/schedule.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "models/graph/action_set.hpp"
#include "sim/ids.hpp"

namespace pipesim::models {
namespace {

constexpr std::uint32_t kNobody = 0xffffffff;

struct ActionWord {
  ActionKind kind;
  const char* word;
};

constexpr std::array<ActionWord, 12> kActionWords = {{
    {ActionKind::kNone, ""},
    {ActionKind::kForward, "F"},
    {ActionKind::kBackward, "B"},
    {ActionKind::kInputGrad, "I"},
    {ActionKind::kWeightGrad, "W"},
    {ActionKind::kUnshard, "UNSHARD"},
    {ActionKind::kReshard, "RESHARD"},
    {ActionKind::kReduceGrad, "REDUCE_GRAD"},
    {ActionKind::kSendForward, "SEND_F"},
    {ActionKind::kRecvForward, "RECV_F"},
    {ActionKind::kSendBackward, "SEND_B"},
    {ActionKind::kRecvBackward, "RECV_B"},
}};
static_assert(sim::has_row_per_kind(kActionWords), "each action has its word, in their order");

std::string quoted(const Action& action) { return "'" + action_text(action) + "'"; }

class Validation {
 public:
  Validation(Schedule& schedule, Diagnostics& diagnostics)
      : schedule_(schedule), diagnostics_(diagnostics), errors_(diagnostics.error_count()) {}

  bool run() {
    if (schedule_.index_count() > kMaxScheduled) {
      diagnostics_.error(schedule_.place(0, 0), Code::kLimit,
                         std::to_string(schedule_.stages) + " stages of " +
                             std::to_string(schedule_.micro_batches) +
                             " micro-batches are more than the " + std::to_string(kMaxScheduled) +
                             " that a schedule can have");
      return false;
    }
    schedule_.rank_of_stage.assign(schedule_.stages, kNobody);
    for_each([this](const Action& action) { find_rank(action); });
    if (failed()) return false;
    done_ = done_before(true);
    for_each([this](const Action& action) { check_order(action); });
    if (failed()) return false;
    for (std::uint32_t stage = 0; stage < schedule_.stages; ++stage) check_complete(stage);
    if (!failed() && schedule_.has_messages()) {
      done_ = done_before(false);
      for_each([this](const Action& action) { check_message(action); });
    }
    return !failed();
  }

 private:
  bool failed() const { return diagnostics_.error_count() > errors_; }

  // Calls `check` for each action, rank by rank.
  template <typename Check>
  void for_each(const Check& check) {
    for (rank_ = 0; rank_ < schedule_.ranks.size(); ++rank_) {
      for (at_ = 0; at_ < schedule_.ranks[rank_].size(); ++at_) {
        if (!schedule_.ranks[rank_][at_].none()) check(schedule_.ranks[rank_][at_]);
      }
    }
  }

  // Returns the actions that a partial schedule does not list. If `halved`, a backward counts as
  // its two halves.
  ActionSet done_before(bool halved) {
    ActionSet done(schedule_);
    if (!schedule_.partial) return done;
    ActionSet here(schedule_);
    for_each([&](Action action) {
      if (!has_micro_batch(action.kind)) return;
      if (action.kind == ActionKind::kBackward && halved) {
        action.kind = ActionKind::kInputGrad;
        here.add(action);
        action.kind = ActionKind::kWeightGrad;
      }
      here.add(action);
      // A gradient that is listed as a backward or as a half was not done before.
      if (halved || !gives_gradient(action.kind)) return;
      for (const ActionKind kind : {ActionKind::kBackward, ActionKind::kInputGrad}) {
        action.kind = kind;
        here.add(action);
      }
    });
    done.add_all_but(here);
    return done;
  }

  Diagnostic& error(std::string message) {
    return diagnostics_.error(schedule_.place(rank_, at_), Code::kScheduleOrder,
                              std::move(message));
  }

  void find_rank(const Action& action) {
    std::uint32_t& owner = schedule_.rank_of_stage[action.stage];
    if (owner == kNobody) owner = rank_;
    if (owner == rank_) return;
    error(quoted(action) + " is on rank " + std::to_string(rank_) + ", but stage " +
          std::to_string(action.stage) + " is on rank " + std::to_string(owner));
  }

  void check_order(const Action& action) {
    const auto once = [&](ActionKind kind, const char* what) {
      if (done_.add({kind, false, action.stage, action.micro_batch})) return;
      error(quoted(action) + ": the " + what + " of stage " + std::to_string(action.stage) +
            " and micro-batch " + std::to_string(action.micro_batch) + " appears twice");
    };
    const auto after = [&](ActionKind kind) {
      const Action needed{kind, false, action.stage, action.micro_batch};
      if (!done_.has(needed)) come_before(action, needed);
    };
    switch (action.kind) {
      case ActionKind::kForward:
        once(ActionKind::kForward, "forward");
        break;
      case ActionKind::kBackward:
        after(ActionKind::kForward);
        once(ActionKind::kInputGrad, "backward");
        once(ActionKind::kWeightGrad, "backward");
        break;
      case ActionKind::kInputGrad:
        after(ActionKind::kForward);
        once(ActionKind::kInputGrad, "backward");
        break;
      case ActionKind::kWeightGrad:
        after(ActionKind::kInputGrad);
        once(ActionKind::kWeightGrad, "weight gradient");
        break;
      default:
        break;
    }
  }

  void come_before(const Action& action, const Action& needed) {
    const Actions& row = schedule_.ranks[rank_];
    const auto same = [&](const Action& other) {
      return other.kind == needed.kind && other.stage == needed.stage &&
             other.micro_batch == needed.micro_batch;
    };
    const bool is_later = std::any_of(row.begin(), row.end(), same);
    Diagnostic& mistake =
        error(quoted(action) + " comes before " + quoted(needed) + " on its rank");
    if (!is_later) suggest_partial(mistake);
  }

  // Suggests 'partial: on': the rows may be the tail of a longer schedule.
  void suggest_partial(Diagnostic& mistake) {
    if (schedule_.partial || is_suggested_) return;
    is_suggested_ = true;
    mistake.notes.emplace_back(
        "if these are the last actions of a longer schedule, as in a log, say 'partial: on' beside "
        "'rows', or import the file with --partial");
  }

  // Returns the peer stage of a send or recv; kNobody if there is none.
  std::uint32_t other_stage(const Action& message) const {
    const bool up = message.kind == ActionKind::kSendForward ||
                    message.kind == ActionKind::kRecvBackward;  // the peer is the next stage
    if (up ? schedule_.is_last(message.stage) : schedule_.is_first(message.stage)) return kNobody;
    return up ? message.stage + 1 : message.stage - 1;
  }

  // Reports actions whose input was not received or computed before, as PyTorch does. Whether sends
  // and recvs match is left to the simulation.
  void check_message(const Action& action) {
    if (is_message(action.kind)) check_ends(action);
    check_needs(action);
    if (has_micro_batch(action.kind)) done_.add(action);
  }

  void check_needs(const Action& action) {
    const auto need = [&](ActionKind kind) {
      const Action needed{kind, false, action.stage, action.micro_batch};
      if (!done_.has(needed)) come_before(action, needed);
    };
    switch (action.kind) {
      case ActionKind::kForward:
        if (!schedule_.is_first(action.stage)) {
          need_input(action, ActionKind::kRecvForward, action.stage - 1, ActionKind::kForward);
        }
        break;
      case ActionKind::kInputGrad:
      case ActionKind::kBackward:
        if (!schedule_.is_last(action.stage)) {
          need_input(action, ActionKind::kRecvBackward, action.stage + 1, ActionKind::kBackward);
        }
        break;
      case ActionKind::kSendForward:
        need(ActionKind::kForward);
        break;
      case ActionKind::kSendBackward:
        if (!done_.has_gradient(action.stage, action.micro_batch)) need(ActionKind::kBackward);
        break;
      default:
        break;
    }
  }

  // Requires the input from stage `from`: received, or computed on the same rank.
  void need_input(const Action& action, ActionKind receive, std::uint32_t from,
                  ActionKind computed) {
    const bool here = schedule_.rank_of_stage[from] == rank_;
    const Action needed{here ? computed : receive, false, here ? from : action.stage,
                        action.micro_batch};
    const bool halved =
        here && computed == ActionKind::kBackward && done_.has_gradient(from, action.micro_batch);
    if (!halved && !done_.has(needed)) come_before(action, needed);
  }

  void check_ends(const Action& message) {
    if (done_.has(message)) error(quoted(message) + " appears twice");
    const std::uint32_t other = other_stage(message);
    if (other == kNobody) {
      error(quoted(message) + ": there is no stage to exchange it with");
    } else if (schedule_.rank_of_stage[other] == rank_) {
      error(quoted(message) + ": stage " + std::to_string(other) +
            " is on the same rank, which needs no message");
    }
  }

  void check_complete(std::uint32_t stage) {
    const std::string name = "stage " + std::to_string(stage);
    if (schedule_.rank_of_stage[stage] == kNobody) {
      diagnostics_.error(
          schedule_.place(0, 0), Code::kScheduleOrder,
          "no rank has " + name + " of stages 0 to " + std::to_string(schedule_.stages - 1));
      return;
    }
    if (schedule_.partial) return;
    const std::pair<ActionKind, const char*> sorts[] = {
        {ActionKind::kForward, "forward"},
        {ActionKind::kInputGrad, "backward"},
        {ActionKind::kWeightGrad, "weight gradient"}};
    for (const auto& [kind, what] : sorts) {
      for (std::uint32_t m = 0; m < schedule_.micro_batches; ++m) {
        if (done_.has({kind, false, stage, m})) continue;
        Diagnostic& mistake = diagnostics_.error(
            schedule_.place(schedule_.rank_of_stage[stage], 0), Code::kScheduleOrder,
            name + " lacks the " + what + " of micro-batch " + std::to_string(m) + " of " +
                std::to_string(schedule_.micro_batches));
        suggest_partial(mistake);
        return;
      }
    }
  }

  Schedule& schedule_;
  Diagnostics& diagnostics_;
  std::size_t errors_;
  std::uint32_t rank_ = 0;  // rank of the current action
  std::size_t at_ = 0;
  bool is_suggested_ = false;
  ActionSet done_;  // actions done so far; for check_order(), a backward counts as its two halves
};

}  // namespace

const char* action_word(ActionKind kind) {
  return kActionWords[static_cast<std::size_t>(kind)].word;
}

std::string action_text(const Action& action) {
  if (action.none()) return "";
  std::string text = std::to_string(action.stage) + action_word(action.kind);
  if (has_micro_batch(action.kind)) text += std::to_string(action.micro_batch);
  return text;
}

void add_empty(Actions& actions, std::uint32_t count) {
  if (count == 0) return;
  if (actions.empty() || !actions.back().none()) {
    actions.push_back({ActionKind::kNone, false, 0, count - 1});
  } else {
    actions.back().micro_batch += count;
  }
}

std::string slot_text(const Actions& actions, std::size_t begin) {
  if (actions[begin].none()) return std::string(actions[begin].micro_batch, ',');
  const std::size_t end = slot_end(actions, begin);
  if (end == begin + 1) return action_text(actions[begin]);
  const bool group = is_message(actions[begin].kind);
  std::string text = group ? "" : "(";
  for (std::size_t i = begin; i < end; ++i) {
    if (i > begin) text += group ? '+' : ';';
    text += action_text(actions[i]);
  }
  return group ? text : text + ")OVERLAP_F_B";
}

bool Schedule::has_messages() const {
  return std::any_of(ranks.begin(), ranks.end(), [](const Actions& actions) {
    return std::any_of(actions.begin(), actions.end(),
                       [](const Action& action) { return is_message(action.kind); });
  });
}

Schedule without_empty(const Schedule& schedule) {
  Schedule result = schedule;
  for (std::uint32_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    result.ranks[rank].clear();
    if (!result.places.empty()) result.places[rank].clear();
    for (std::size_t i = 0; i < schedule.ranks[rank].size(); ++i) {
      if (schedule.ranks[rank][i].none()) continue;
      result.ranks[rank].push_back(schedule.ranks[rank][i]);
      if (!result.places.empty()) result.places[rank].push_back(schedule.place(rank, i));
    }
  }
  return result;
}

bool validate(Schedule& schedule, Diagnostics& diagnostics) {
  return Validation(schedule, diagnostics).run();
}

}  // namespace pipesim::models
