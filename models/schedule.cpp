#include "models/schedule.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace pipesim::models {
namespace {

using Key = std::tuple<std::uint32_t, std::uint32_t>;  // stage, micro-batch

constexpr std::uint32_t kNobody = 0xffffffff;

std::string quoted(const Action& action) { return "'" + action_text(action) + "'"; }

class Validation {
 public:
  Validation(Schedule& schedule, Diagnostics& diagnostics)
      : schedule_(schedule), diagnostics_(diagnostics), errors_(diagnostics.error_count()) {}

  bool run() {
    schedule_.rank_of_stage.assign(schedule_.stages, kNobody);
    for (std::uint32_t rank = 0; rank < schedule_.ranks.size(); ++rank) {
      for (const Action& action : schedule_.ranks[rank]) {
        for (const Action& part : parts_of(action)) place(part, rank);
      }
    }
    if (failed()) return false;
    for (const Actions& actions : schedule_.ranks) {
      for (const Action& action : actions) {
        for (const Action& part : parts_of(action)) check_order(part);
      }
    }
    if (failed()) return false;
    for (std::uint32_t stage = 0; stage < schedule_.stages; ++stage) check_complete(stage);
    if (!failed() && schedule_.has_messages()) {
      for (const Actions& actions : schedule_.ranks) check_messages(actions);
    }
    return !failed();
  }

 private:
  bool failed() const { return diagnostics_.error_count() > errors_; }

  void place(const Action& action, std::uint32_t rank) {
    if (action.none()) return;
    std::uint32_t& owner = schedule_.rank_of_stage[action.stage];
    if (owner == kNobody) owner = rank;
    if (owner == rank) return;
    diagnostics_.error(action.place, quoted(action) + " is on rank " + std::to_string(rank) +
                                         ", but stage " + std::to_string(action.stage) +
                                         " is on rank " + std::to_string(owner));
  }

  void check_order(const Action& action) {
    const Key key{action.stage, action.micro_batch};
    const auto once = [&](std::set<Key>& done, const char* what) {
      if (done.insert(key).second) return;
      diagnostics_.error(action.place, quoted(action) + ": the " + what + " of stage " +
                                           std::to_string(action.stage) + " and micro-batch " +
                                           std::to_string(action.micro_batch) + " is done twice");
    };
    const auto after = [&](const std::set<Key>& done, ActionKind kind) {
      if (done.count(key) > 0) return;
      const Action needed{kind, action.stage, action.micro_batch, {}, {}};
      diagnostics_.error(action.place,
                         quoted(action) + " comes before " + quoted(needed) + " on its rank");
    };
    switch (action.kind) {
      case ActionKind::kForward:
        once(forward_, "forward");
        break;
      case ActionKind::kBackward:
        after(forward_, ActionKind::kForward);
        once(input_grad_, "backward");
        once(weight_grad_, "backward");
        break;
      case ActionKind::kInputGrad:
        after(forward_, ActionKind::kForward);
        once(input_grad_, "backward");
        break;
      case ActionKind::kWeightGrad:
        after(input_grad_, ActionKind::kInputGrad);
        once(weight_grad_, "weight gradient");
        break;
      default:
        break;
    }
  }

  // The other stage of a message; kNobody, if it comes from nowhere or goes nowhere.
  std::uint32_t other_stage(const Action& message) const {
    const bool up = message.kind == ActionKind::kSendForward ||
                    message.kind == ActionKind::kRecvBackward;  // the other one is the next
    if (up ? schedule_.is_last(message.stage) : schedule_.is_first(message.stage)) return kNobody;
    return up ? message.stage + 1 : message.stage - 1;
  }

  // What a rank does with what it has not received is a mistake here, as in PyTorch. Whether
  // messages meet is for the simulation to say.
  void check_messages(const Actions& actions) {
    done_.clear();
    for (const Action& action : actions) {
      if (is_message(action.kind)) check_message(action);
      for (const Action& part : parts_of(action)) {
        check_needs(action, part);
        done_.insert({part.kind, {part.stage, part.micro_batch}});
      }
    }
  }

  void check_needs(const Action& action, const Action& part) {
    switch (part.kind) {
      case ActionKind::kForward:
        if (schedule_.is_first(part.stage)) break;
        need_input(action, part, ActionKind::kRecvForward, part.stage - 1, ActionKind::kForward);
        break;
      case ActionKind::kInputGrad:
      case ActionKind::kBackward:
        if (schedule_.is_last(part.stage)) break;
        need_input(action, part, ActionKind::kRecvBackward, part.stage + 1, ActionKind::kBackward);
        break;
      case ActionKind::kSendForward:
        need(action, {ActionKind::kForward, part.stage, part.micro_batch, {}, {}});
        break;
      case ActionKind::kSendBackward:
        need(action, {ActionKind::kBackward, part.stage, part.micro_batch, {}, {}});
        break;
      default:
        break;
    }
  }

  // From stage `from`: by message, or computed on the same rank.
  void need_input(const Action& action, const Action& part, ActionKind receive, std::uint32_t from,
                  ActionKind computed) {
    const bool here = schedule_.rank_of_stage[from] == schedule_.rank_of_stage[part.stage];
    need(action, {here ? computed : receive, here ? from : part.stage, part.micro_batch, {}, {}});
  }

  void need(const Action& action, const Action& needed) {
    const auto done = [&](ActionKind kind) {
      return done_.count({kind, {needed.stage, needed.micro_batch}}) > 0;
    };
    const bool halved = needed.kind == ActionKind::kBackward && done(ActionKind::kInputGrad);
    if (done(needed.kind) || halved) return;
    diagnostics_.error(action.place,
                       quoted(action) + " comes before " + quoted(needed) + " on its rank");
  }

  void check_message(const Action& message) {
    if (done_.count({message.kind, {message.stage, message.micro_batch}}) > 0) {
      diagnostics_.error(message.place, quoted(message) + " stands there twice");
    }
    const std::uint32_t other = other_stage(message);
    if (other == kNobody) {
      diagnostics_.error(message.place, quoted(message) + ": there is no stage at the other end");
    } else if (schedule_.rank_of_stage[other] == schedule_.rank_of_stage[message.stage]) {
      diagnostics_.error(message.place, quoted(message) + ": stage " + std::to_string(other) +
                                            " is on the same rank, which needs no message");
    }
  }

  void check_complete(std::uint32_t stage) {
    const std::string name = "stage " + std::to_string(stage);
    if (schedule_.rank_of_stage[stage] == kNobody) {
      diagnostics_.error(
          {}, "no rank has " + name + " of stages 0 to " + std::to_string(schedule_.stages - 1));
      return;
    }
    const std::pair<const std::set<Key>*, const char*> sorts[] = {
        {&forward_, "forward"}, {&input_grad_, "backward"}, {&weight_grad_, "weight gradient"}};
    for (const auto& [done, what] : sorts) {
      for (std::uint32_t m = 0; m < schedule_.micro_batches; ++m) {
        if (done->count({stage, m}) > 0) continue;
        diagnostics_.error({}, name + " lacks the " + what + " of micro-batch " +
                                   std::to_string(m) + " of " +
                                   std::to_string(schedule_.micro_batches));
        return;
      }
    }
  }

  Schedule& schedule_;
  Diagnostics& diagnostics_;
  std::size_t errors_;
  std::set<Key> forward_;
  std::set<Key> input_grad_;
  std::set<Key> weight_grad_;
  std::set<std::pair<ActionKind, Key>> done_;  // of the rank whose messages are checked
};

}  // namespace

bool is_compute(ActionKind kind) {
  return kind == ActionKind::kForward || kind == ActionKind::kBackward ||
         kind == ActionKind::kInputGrad || kind == ActionKind::kWeightGrad ||
         kind == ActionKind::kOverlap;
}

bool is_message(ActionKind kind) {
  return kind == ActionKind::kSendForward || kind == ActionKind::kRecvForward ||
         kind == ActionKind::kSendBackward || kind == ActionKind::kRecvBackward;
}

bool has_micro_batch(ActionKind kind) {
  return is_message(kind) || (is_compute(kind) && kind != ActionKind::kOverlap);
}

const char* action_word(ActionKind kind) {
  switch (kind) {
    case ActionKind::kNone:
      return "";
    case ActionKind::kForward:
      return "F";
    case ActionKind::kBackward:
      return "B";
    case ActionKind::kInputGrad:
      return "I";
    case ActionKind::kWeightGrad:
      return "W";
    case ActionKind::kUnshard:
      return "UNSHARD";
    case ActionKind::kReshard:
      return "RESHARD";
    case ActionKind::kReduceGrad:
      return "REDUCE_GRAD";
    case ActionKind::kSendForward:
      return "SEND_F";
    case ActionKind::kRecvForward:
      return "RECV_F";
    case ActionKind::kSendBackward:
      return "SEND_B";
    case ActionKind::kRecvBackward:
      return "RECV_B";
    case ActionKind::kOverlap:
      return "OVERLAP_F_B";
  }
  return "";
}

std::string action_text(const Action& action) {
  if (action.none()) return "";
  if (action.kind != ActionKind::kOverlap) {
    std::string text = std::to_string(action.stage) + action_word(action.kind);
    if (has_micro_batch(action.kind)) text += std::to_string(action.micro_batch);
    return text;
  }
  std::string text = "(";
  for (const Action& part : action.parts) {
    if (text.size() > 1) text += ';';
    text += action_text(part);
  }
  return text + ")" + action_word(action.kind);
}

std::vector<Action> parts_of(const Action& action) {
  return action.kind == ActionKind::kOverlap ? action.parts : std::vector<Action>{action};
}

bool Schedule::has_messages() const {
  return std::any_of(ranks.begin(), ranks.end(), [](const Actions& actions) {
    return std::any_of(actions.begin(), actions.end(),
                       [](const Action& action) { return is_message(action.kind); });
  });
}

Schedule without_empty(Schedule schedule) {
  for (Actions& actions : schedule.ranks) {
    actions.erase(std::remove_if(actions.begin(), actions.end(),
                                 [](const Action& action) { return action.none(); }),
                  actions.end());
  }
  return schedule;
}

bool validate(Schedule& schedule, Diagnostics& diagnostics) {
  return Validation(schedule, diagnostics).run();
}

}  // namespace pipesim::models
