#include "models/schedules/schedule_lowering.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "models/graph/action_set.hpp"
#include "models/schedules/action_body.hpp"
#include "models/schedules/new_rows.hpp"
#include "models/schedules/word_table.hpp"

namespace pipesim::models {
namespace {

constexpr std::size_t kStagesAhead = 3;
constexpr std::size_t kAhead = 8;  // distance of prefetches, in actions: more than a cache line

// Whether the inputs that `action` needs from other stages have arrived, or were computed on the
// rank of `action`.
bool has_inputs(const Schedule& schedule, const Action& action, const ActionSet& done) {
  const std::uint32_t stage = action.stage;
  const std::uint32_t m = action.micro_batch;
  const auto here = [&](std::uint32_t other) {
    return schedule.rank_of_stage[other] == schedule.rank_of_stage[stage];
  };
  if (action.kind == ActionKind::kForward && !schedule.is_first(stage)) {
    return done.has({ActionKind::kRecvForward, false, stage, m}) ||
           (here(stage - 1) && done.has({ActionKind::kForward, false, stage - 1, m}));
  }
  if (gives_gradient(action.kind) && !schedule.is_last(stage)) {
    return done.has({ActionKind::kRecvBackward, false, stage, m}) ||
           (here(stage + 1) && done.has_gradient(stage + 1, m));
  }
  return true;
}

// PyTorch's algorithm that adds sends and recvs (_add_send_recv). In each round, every rank has a
// turn and runs its next slot if the inputs of that slot are available. The rank then appends each
// send to its own row, and the matching recv to the row of the receiver. An empty slot uses up a
// turn. For speed, a blocked rank gets no turns until a recv is appended to its row.
class SendRecv {
 public:
  explicit SendRecv(const Schedule& from)
      : from_(from),
        next_(from.ranks.size(), 0),
        now_(from.ranks.size() / kBits + 1, 0),
        later_(now_),
        resumes_(from.ranks.size(), 0),
        done_(from) {
    result_.stages = from.stages;
    result_.pipelines = from.pipelines;
    result_.micro_batches = from.micro_batches;
    result_.partial = from.partial;
    if (from.partial) find_done_before();
    result_.rank_of_stage = from.rank_of_stage;
    result_.ranks.resize(from.ranks.size());
    result_.places.resize(from.places.size());
    // Each forward or gradient can have a send and a recv.
    for (std::uint32_t rank = 0; rank < from.ranks.size(); ++rank) {
      std::size_t count = 0;
      for (const Action& action : from.ranks[rank]) {
        if (action.none()) continue;
        const bool message = action.kind == ActionKind::kForward || gives_gradient(action.kind);
        count += message ? 3 : 1;
      }
      result_.ranks[rank].reserve(count);
    }
  }

  std::optional<Schedule> run(Diagnostics& diagnostics) {
    for (std::uint32_t rank = 0; rank < from_.ranks.size(); ++rank) give_turn(later_, rank);
    while (next_round()) {
      for (std::size_t i = 0; i < now_.size(); ++i) {
        while (now_[i] != 0) {
          turn_ = static_cast<std::uint32_t>(i * kBits) +
                  static_cast<std::uint32_t>(std::countr_zero(now_[i]));
          now_[i] &= now_[i] - 1;
          take_turn();
        }
      }
    }
    for (std::uint32_t rank = 0; rank < from_.ranks.size(); ++rank) {
      if (next_[rank] == from_.ranks[rank].size()) continue;
      complain(diagnostics);
      return std::nullopt;
    }
    return std::move(result_);
  }

 private:
  using Turns = std::vector<std::uint64_t>;  // one bit per rank
  static constexpr std::size_t kBits = 64;

  static void give_turn(Turns& turns, std::uint32_t rank) {
    turns[rank / kBits] |= std::uint64_t{1} << rank % kBits;
  }

  // Starts the next round. Returns false if no rank has another turn.
  bool next_round() {
    now_.swap(later_);
    const bool any = std::any_of(now_.begin(), now_.end(), [](auto turns) { return turns != 0; });
    if (!any && pauses_.empty()) return false;
    round_ = any ? round_ + 1 : pauses_.top().first;
    for (; !pauses_.empty() && pauses_.top().first == round_; pauses_.pop()) {
      give_turn(now_, pauses_.top().second);
    }
    return true;
  }

  void take_turn() {
    const Actions& actions = from_.ranks[turn_];
    if (next_[turn_] == actions.size() || resumes_[turn_] > round_) return;
    const Action& first = actions[next_[turn_]];
    if (first.none() && first.micro_batch > 0) {
      ++next_[turn_];
      resumes_[turn_] = round_ + 1 + first.micro_batch;
      pauses_.emplace(resumes_[turn_], turn_);
    } else if (step(turn_)) {
      give_turn(later_, turn_);
    }
  }

  bool step(std::uint32_t rank) {
    const Actions& actions = from_.ranks[rank];
    const std::size_t begin = next_[rank];
    const std::size_t end = slot_end(actions, begin);
    __builtin_prefetch(actions.data() + std::min(end + kAhead, actions.size()));
    for (std::size_t i = begin; i < end; ++i) {
      if (!has_inputs(from_, actions[i], done_)) return false;
    }
    next_[rank] = end;
    for (std::size_t i = begin; i < end; ++i) {
      if (actions[i].none()) continue;
      if (is_compute(actions[i].kind)) done_.add(actions[i]);
      add(rank, actions[i], from_.place(rank, i));
    }
    for (std::size_t i = begin; i < end; ++i) add_message(actions[i], from_.place(rank, i));
    return true;
  }

  // Marks all actions that no rank lists, and all inputs from these actions, as done before the
  // schedule.
  void find_done_before() {
    here_ = ActionSet(from_);
    for (const Actions& row : from_.ranks) {
      for (Action action : row) {
        if (action.none()) continue;
        if (action.kind == ActionKind::kBackward) action.kind = ActionKind::kInputGrad;
        if (has_micro_batch(action.kind)) here_.add(action);
      }
    }
    for (std::uint32_t stage = 0; stage < from_.stages; ++stage) {
      for (std::uint32_t m = 0; m < from_.micro_batches; ++m) add_done_before(stage, m);
    }
  }

  void add_done_before(std::uint32_t stage, std::uint32_t m) {
    const auto is_before = [&](ActionKind kind, std::uint32_t of) {
      return !here_.has({kind, false, of, m});
    };
    for (const ActionKind kind : {ActionKind::kForward, ActionKind::kInputGrad}) {
      if (is_before(kind, stage)) done_.add({kind, false, stage, m});
    }
    if (!from_.is_first(stage) && is_before(ActionKind::kForward, stage - 1)) {
      done_.add({ActionKind::kRecvForward, false, stage, m});
    }
    if (!from_.is_last(stage) && is_before(ActionKind::kInputGrad, stage + 1)) {
      done_.add({ActionKind::kRecvBackward, false, stage, m});
    }
  }

  void add_message(const Action& action, Place place) {
    const bool forward = action.kind == ActionKind::kForward;
    if (!forward && !gives_gradient(action.kind)) return;
    if (forward ? from_.is_last(action.stage) : from_.is_first(action.stage)) return;
    const std::uint32_t other = forward ? action.stage + 1 : action.stage - 1;
    const std::uint32_t from = from_.rank_of_stage[action.stage];
    const std::uint32_t to = from_.rank_of_stage[other];
    if (to == from) return;
    const ActionKind user = forward ? ActionKind::kForward : ActionKind::kInputGrad;
    if (from_.partial && !here_.has({user, false, other, action.micro_batch})) return;
    const ActionKind send = forward ? ActionKind::kSendForward : ActionKind::kSendBackward;
    const ActionKind recv = forward ? ActionKind::kRecvForward : ActionKind::kRecvBackward;
    const Action received{recv, false, other, action.micro_batch};
    done_.add(received);
    add(from, {send, false, action.stage, action.micro_batch}, place);
    add(to, received, place);
    give_turn(to > turn_ ? now_ : later_, to);
  }

  void add(std::uint32_t rank, const Action& action, Place place) {
    Actions& row = result_.ranks[rank];
    row.push_back(action);
    // Prefetches the row: turns go from row to row, so the row leaves the cache before the next
    // turn of its rank.
    __builtin_prefetch(row.data() + std::min(row.size() + kAhead, row.capacity()), 1);
    if (!result_.places.empty()) result_.places[rank].push_back(place);
  }

  void complain(Diagnostics& diagnostics) const {
    for (std::uint32_t rank = 0; rank < from_.ranks.size(); ++rank) {
      if (next_[rank] == from_.ranks[rank].size()) continue;
      Diagnostic& error = diagnostics.error(
          from_.place(rank, next_[rank]), Code::kScheduleOrder,
          "this schedule cannot run: rank " + std::to_string(rank) + " reaches '" +
              slot_text(from_.ranks[rank], next_[rank]) + "', but what it needs is never computed");
      for (std::uint32_t other = rank + 1; other < from_.ranks.size(); ++other) {
        if (next_[other] == from_.ranks[other].size()) continue;
        error.notes.push_back("rank " + std::to_string(other) + " is at '" +
                              slot_text(from_.ranks[other], next_[other]) + "'");
        if (error.notes.size() == 8) break;
      }
      return;
    }
  }

  const Schedule& from_;
  std::vector<std::size_t> next_;
  Turns now_;  // ranks with a turn in this round; `later_`: in the next round
  Turns later_;
  std::uint32_t turn_ = 0;  // rank with the current turn
  std::size_t round_ = 0;
  std::vector<std::size_t> resumes_;  // by rank: round in which its empty slots end
  std::priority_queue<std::pair<std::size_t, std::uint32_t>,
                      std::vector<std::pair<std::size_t, std::uint32_t>>, std::greater<>>
      pauses_;  // pauses of more than one turn: round of the next turn, rank
  ActionSet done_;
  ActionSet here_;  // actions of a partial schedule; a backward counts as its input gradient
  Schedule result_;
};

// Returns the next stages of a rank, at most `kStagesAhead`, each once. Both stages of overlapping
// actions count, so there can be one more.
std::vector<std::uint32_t> next_stages(const Actions& actions, std::size_t from) {
  std::vector<std::uint32_t> stages;
  for (std::size_t i = from; i < actions.size(); ++i) {
    const bool same_slot = i > from && actions[i - 1].overlaps_next;
    if (stages.size() >= kStagesAhead && !same_slot) break;
    if (std::find(stages.begin(), stages.end(), actions[i].stage) == stages.end()) {
      stages.push_back(actions[i].stage);
    }
  }
  return stages;
}

class DryRun {
 public:
  explicit DryRun(const Schedule& schedule)
      : schedule_(schedule), next_(schedule.ranks.size(), 0), done_(schedule) {}

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
      // Progress of a later rank can let an earlier rank continue in the same step.
      for (const std::uint32_t rank : idle) step(rank);
    }
  }

 private:
  bool step(std::uint32_t rank) {
    const Action& action = schedule_.ranks[rank][next_[rank]];
    if (!ready(action)) return false;
    done_.add(action);
    ++next_[rank];
    return true;
  }

  bool ready(const Action& action) const {
    const std::uint32_t stage = action.stage;
    const std::uint32_t m = action.micro_batch;
    switch (action.kind) {
      case ActionKind::kSendForward:
        return done_.has({ActionKind::kForward, false, stage, m});
      case ActionKind::kSendBackward:
        return done_.has_gradient(stage, m);
      case ActionKind::kRecvForward:
        return done_.has({ActionKind::kSendForward, false, stage - 1, m});
      case ActionKind::kRecvBackward:
        return done_.has({ActionKind::kSendBackward, false, stage + 1, m});
      case ActionKind::kUnshard:
      case ActionKind::kReshard:
      case ActionKind::kReduceGrad:
        return false;
      default:
        return !action.overlaps_next && has_inputs(schedule_, action, done_);
    }
  }

  const Schedule& schedule_;
  std::vector<std::size_t> next_;
  ActionSet done_;
};

constexpr WordTable<MessageOrder, 4> kOrders = {{
    {"in_turn", MessageOrder::kInTurn},
    {"deferred", MessageOrder::kDeferred},
    {"send_first", MessageOrder::kSendFirst},
    {"recv_first", MessageOrder::kRecvFirst},
}};

ActionSet messages_of(const Schedule& schedule) {
  ActionSet messages(schedule);
  for (const Actions& row : schedule.ranks) {
    for (const Action& action : row) {
      if (is_message(action.kind)) messages.add(action);
    }
  }
  return messages;
}

// The sends and recvs between two actions of a row, written in the requested order.
class Between {
 public:
  Between(const ActionSet& known, MessageOrder order) : known_(known), order_(order) {}

  /// Adds the sends or the recvs of the actions in [first, end) that the schedule has.
  void add(const Actions& actions, std::size_t first, std::size_t end, bool sends) {
    for (std::size_t i = first; i < end; ++i) {
      const Action message = message_of(actions[i], sends);
      if (!message.none() && known_.has(message)) messages_.emplace_back(message, i);
    }
  }

  void finish(NewRow& row) {
    // In the other orders, sends of the results just computed come first.
    if (order_ == MessageOrder::kRecvFirst) {
      std::stable_partition(messages_.begin(), messages_.end(),
                            [](const auto& message) { return !is_send(message.first.kind); });
    }
    for (const auto& [message, i] : messages_) row.add(message, i);
    messages_.clear();
  }

 private:
  const ActionSet& known_;
  MessageOrder order_;
  // Sends and recvs, each with the index of its action in the old row.
  std::vector<std::pair<Action, std::size_t>> messages_;
};

// Returns the recv that matches a send, or the send that matches a recv.
Action other_end(const Action& message) {
  switch (message.kind) {
    case ActionKind::kSendForward:
      return {ActionKind::kRecvForward, false, message.stage + 1, message.micro_batch};
    case ActionKind::kRecvForward:
      return {ActionKind::kSendForward, false, message.stage - 1, message.micro_batch};
    case ActionKind::kSendBackward:
      return {ActionKind::kRecvBackward, false, message.stage - 1, message.micro_batch};
    default:
      return {ActionKind::kSendBackward, false, message.stage + 1, message.micro_batch};
  }
}

bool is_input_of(const Action& receive, const Action& action) {
  const bool same = receive.stage == action.stage && receive.micro_batch == action.micro_batch;
  return same && (receive.kind == ActionKind::kRecvForward ? action.kind == ActionKind::kForward
                                                           : gives_gradient(action.kind));
}

// Recvs of a row that are not placed yet.
class OpenReceives {
 public:
  OpenReceives(const Actions& actions, NewRow& row) : actions_(actions), row_(row) {}

  void add(std::size_t i) { open_.push_back(i); }

  /// Places the recvs for which `which` is true, in order.
  template <typename Which>
  void receive(const Which& which) {
    std::vector<std::size_t> left;
    for (const std::size_t i : open_) {
      if (which(actions_[i])) {
        row_.add(actions_[i], i);
      } else {
        left.push_back(i);
      }
    }
    open_ = std::move(left);
  }

 private:
  const Actions& actions_;
  NewRow& row_;
  std::vector<std::size_t> open_;
};

// Returns `schedule` with each recv directly before the slot that uses it. Before each slot without
// recvs, calls `before` for each action of the slot; `before` can place recvs earlier.
template <typename Before>
Schedule with_late_receives(const Schedule& schedule, const Before& before) {
  return with_new_rows(schedule, [&](const Actions& actions, NewRow& row) {
    OpenReceives open(actions, row);
    for (std::size_t i = 0; i < actions.size(); ++i) {
      if (is_receive(actions[i].kind)) open.add(i);
    }
    for (std::size_t i = 0; i < actions.size(); i = slot_end(actions, i)) {
      if (is_receive(actions[i].kind)) continue;
      const std::size_t end = slot_end(actions, i);
      for (std::size_t part = i; part < end; ++part) {
        open.receive([&](const Action& from) { return is_input_of(from, actions[part]); });
        before(actions, part, open);
      }
      for (std::size_t part = i; part < end; ++part) row.add(actions[part], part);
    }
    open.receive([](const Action&) { return true; });
  });
}

// The positions of sends and recvs in the rows of a schedule.
class MessagePlaces {
 public:
  explicit MessagePlaces(const Schedule& schedule) : schedule_(schedule) {
    for (std::vector<std::uint32_t>& places : places_) places.resize(schedule.index_count(), 0);
    for (const Actions& row : schedule.ranks) {
      for (std::uint32_t i = 0; i < row.size(); ++i) {
        if (is_message(row[i].kind)) places_[sort_of(row[i])][schedule.index(row[i])] = i;
      }
    }
  }

  std::uint32_t of(const Action& message) const {
    return places_[sort_of(message)][schedule_.index(message)];
  }

 private:
  static std::size_t sort_of(const Action& message) {
    return static_cast<std::size_t>(message.kind) -
           static_cast<std::size_t>(ActionKind::kSendForward);
  }

  const Schedule& schedule_;
  std::array<std::vector<std::uint32_t>, 4> places_;
};

}  // namespace

bool is_send(ActionKind kind) {
  return kind == ActionKind::kSendForward || kind == ActionKind::kSendBackward;
}

bool is_receive(ActionKind kind) {
  return kind == ActionKind::kRecvForward || kind == ActionKind::kRecvBackward;
}

Action message_of(const Action& action, bool send) {
  Action message{ActionKind::kNone, false, action.stage, action.micro_batch};
  if (action.kind == ActionKind::kForward) {
    message.kind = send ? ActionKind::kSendForward : ActionKind::kRecvForward;
  } else if (gives_gradient(action.kind)) {
    message.kind = send ? ActionKind::kSendBackward : ActionKind::kRecvBackward;
  }
  return message;
}

Schedule merge_backwards(const Schedule& schedule) {
  return with_new_rows(schedule, [](const Actions& actions, NewRow& row) {
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const Action& action = actions[i];
      const bool pair = action.kind == ActionKind::kWeightGrad && !row.actions.empty() &&
                        row.actions.back().kind == ActionKind::kInputGrad &&
                        row.actions.back().stage == action.stage &&
                        row.actions.back().micro_batch == action.micro_batch;
      if (pair) {
        row.actions.back().kind = ActionKind::kBackward;
      } else {
        row.add(action, i);
      }
    }
  });
}

Schedule add_unshard_reshard(const Schedule& schedule) {
  return with_new_rows(schedule, [](const Actions& actions, NewRow& row) {
    std::set<std::uint32_t> active;
    for (std::size_t i = 0; i < actions.size(); i = slot_end(actions, i)) {
      const std::vector<std::uint32_t> next = next_stages(actions, i);
      std::set<std::uint32_t> kept;
      for (const std::uint32_t stage : active) {
        if (std::find(next.begin(), next.end(), stage) != next.end()) {
          kept.insert(stage);
        } else {
          row.add({ActionKind::kReshard, false, stage, 0}, i);
        }
      }
      active = std::move(kept);
      for (const std::uint32_t stage : next) {
        if (active.insert(stage).second) row.add({ActionKind::kUnshard, false, stage, 0}, i);
      }
      for (std::size_t part = i; part < slot_end(actions, i); ++part) {
        row.add(actions[part], part);
      }
    }
    for (const std::uint32_t stage : active) {
      row.add({ActionKind::kReshard, false, stage, 0}, actions.size() - 1);
    }
  });
}

Schedule add_reduce_grad(const Schedule& schedule) {
  std::vector<std::uint32_t> left(schedule.stages, 0);
  for (const Actions& row : schedule.ranks) {
    for (const Action& action : row) {
      left[action.stage] += completes_gradients(action.kind) ? 1u : 0u;
    }
  }
  return with_new_rows(schedule, [&](const Actions& actions, NewRow& row) {
    for (std::size_t i = 0; i < actions.size(); i = slot_end(actions, i)) {
      const std::size_t end = slot_end(actions, i);
      for (std::size_t part = i; part < end; ++part) row.add(actions[part], part);
      for (std::size_t part = i; part < end; ++part) {
        const std::uint32_t stage = actions[part].stage;
        if (!completes_gradients(actions[part].kind) || --left[stage] > 0) continue;
        row.add({ActionKind::kReduceGrad, false, stage, 0}, part);
      }
    }
  });
}

std::optional<Schedule> add_send_recv(const Schedule& schedule, Diagnostics& diagnostics) {
  return SendRecv(schedule).run(diagnostics);
}

std::optional<MessageOrder> find_message_order(std::string_view name) {
  return find_word(kOrders, name);
}

std::vector<std::string> message_order_names() { return words_of(kOrders); }

Schedule reorder_messages(Schedule schedule, MessageOrder order) {
  if (order == MessageOrder::kInTurn) return schedule;
  if (order == MessageOrder::kDeferred) return defer_receives(schedule);
  const ActionSet known = messages_of(schedule);
  return with_new_rows(schedule, [&](const Actions& actions, NewRow& row) {
    Between between(known, order);
    for (std::size_t i = 0; i < actions.size(); i = slot_end(actions, i)) {
      if (is_message(actions[i].kind)) continue;
      const std::size_t end = slot_end(actions, i);
      between.add(actions, i, end, false);
      between.finish(row);
      for (std::size_t part = i; part < end; ++part) row.add(actions[part], part);
      between.add(actions, i, end, true);
    }
    between.finish(row);
  });
}

Schedule without_half_messages(const Schedule& schedule) {
  const ActionSet here = messages_of(schedule);
  return with_new_rows(schedule, [&](const Actions& actions, NewRow& row) {
    for (std::size_t i = 0; i < actions.size(); ++i) {
      if (is_message(actions[i].kind) && !here.has(other_end(actions[i]))) continue;
      row.add(actions[i], i);
    }
  });
}

Schedule defer_receives(const Schedule& schedule) {
  const Schedule late = with_late_receives(schedule, [](const Actions&, std::size_t, auto&) {});
  const MessagePlaces places(late);
  return with_late_receives(late, [&](const Actions& row, std::size_t i, OpenReceives& open) {
    if (!is_message(row[i].kind)) return;
    const Action taken = other_end(row[i]);
    const std::uint32_t peer = late.rank_of_stage[taken.stage];
    if (late.rank_of_stage[row[i].stage] > peer) return;
    open.receive([&](const Action& receive) {
      const Action sent = other_end(receive);
      return late.rank_of_stage[sent.stage] == peer && places.of(sent) < places.of(taken);
    });
  });
}

std::optional<std::size_t> dry_run_steps(const Schedule& schedule) {
  const Schedule plain = without_empty(schedule);
  return DryRun(plain).run();
}

}  // namespace pipesim::models
