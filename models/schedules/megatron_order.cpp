// The places of sends and recvs in Megatron-LM: forward_backward_pipelining_without_interleaving
// and ..._with_interleaving in megatron/core/pipeline_parallel/schedules.py, p2p_communication.py.
//
// Without interleaving, a rank receives the input of an action directly before the action. With
// several stages on a rank, the exchange after a forward or backward sends the result of this
// action and receives the input of the next action. The first and the last rank are also neighbors:
// each receives the result that the other one sends at that time, perhaps for a later action.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "models/graph/by_name.hpp"
#include "models/schedules/new_rows.hpp"
#include "models/schedules/schedule_lowering.hpp"

namespace pipesim::models {
namespace {

// Returns 0 for the previous rank of the pipeline, 1 for the next.
int neighbor_of(ActionKind kind) {
  return kind == ActionKind::kSendForward || kind == ActionKind::kRecvBackward ? 1 : 0;
}

// Returns the position of a send or recv within its exchange. `_batched_p2p_ops`: send to the
// previous rank, recv from it, send to the next, recv from it. `_p2p_ops`, even ranks: send to the
// next, recv from the previous, send to the previous, recv from the next. Odd ranks swap each send
// with the recv after it.
int place_in_exchange(ActionKind kind, bool overlap, std::uint32_t rank) {
  const int of_next = neighbor_of(kind);
  const bool sends = !is_receive(kind);
  if (!overlap) return 2 * of_next + (sends ? 0 : 1);
  constexpr int kEven[2][2] = {{1, 2}, {3, 0}};  // [previous, next rank][recv, send]
  constexpr int kOdd[2][2] = {{0, 3}, {2, 1}};
  return rank % 2 == 0 ? kEven[of_next][sends ? 1 : 0] : kOdd[of_next][sends ? 1 : 0];
}

// A lookup table from actions to numbers. A backward has the same key as its input gradient.
class Numbers {
 public:
  void add(const Action& action, std::size_t number) {
    numbers_.emplace_back(key(action), static_cast<std::uint32_t>(number));
  }
  void sort() { std::sort(numbers_.begin(), numbers_.end()); }

  std::uint32_t of(const Action& action) const {
    const std::pair<std::uint64_t, std::uint32_t> first(key(action), 0);
    const auto found = std::lower_bound(numbers_.begin(), numbers_.end(), first);
    return found == numbers_.end() || found->first != first.first ? kNoIndex : found->second;
  }

 private:
  static std::uint64_t key(const Action& action) {
    const ActionKind kind =
        action.kind == ActionKind::kBackward ? ActionKind::kInputGrad : action.kind;
    return (static_cast<std::uint64_t>(kind) << 59) | (std::uint64_t{action.stage} << 32) |
           action.micro_batch;
  }

  std::vector<std::pair<std::uint64_t, std::uint32_t>> numbers_;
};

bool is_of_message(ActionKind kind) { return kind == ActionKind::kForward || gives_gradient(kind); }

// Returns for each forward of a row the number of earlier forwards, and for each backward the
// number of earlier backwards.
Numbers ordinals_of(const Actions& row) {
  Numbers result;
  std::size_t forwards = 0;
  std::size_t backwards = 0;
  for (const Action& action : row) {
    if (!is_of_message(action.kind)) continue;
    result.add(action, action.kind == ActionKind::kForward ? forwards++ : backwards++);
  }
  result.sort();
  return result;
}

// Properties of a schedule that all rows share.
struct MegatronJob {
  MegatronJob(const Schedule& schedule, bool overlapping)
      : from(schedule), overlap(overlapping), ranks(schedule.ranks.size()) {
    if (ranks == 0) return;
    first = ordinals_of(schedule.ranks.front());
    last = ordinals_of(schedule.ranks.back());
    for (const Actions& row : schedule.ranks) {
      combined = combined || std::any_of(row.begin(), row.end(), [](const Action& action) {
                   return is_of_message(action.kind) && action.overlaps_next;
                 });
    }
  }

  const Schedule& from;
  bool overlap;
  std::size_t ranks;
  bool combined = false;  // whether forwards and backwards run as one
  Numbers first;          // ordinals of the first rank
  Numbers last;
};

// A writer of one row.
class MegatronRow {
 public:
  MegatronRow(const MegatronJob& job, const Actions& actions, NewRow& row)
      : job_(job), actions_(actions), row_(row) {
    for (std::size_t i = 0; i < actions.size(); ++i) {
      if (is_message(actions[i].kind)) messages_.add(actions[i], i);
    }
    messages_.sort();
  }

  void write_plain() {
    take_leftovers();
    for (std::size_t i = 0; i < actions_.size(); i = slot_end(actions_, i)) {
      if (is_message(actions_[i].kind)) continue;
      const std::size_t end = slot_end(actions_, i);
      for (std::size_t part = i; part < end; ++part) take(message(part, false), exchange_);
      exchange_by_neighbor();
      for (std::size_t part = i; part < end; ++part) row_.add(actions_[part], part);
      for (std::size_t part = i; part < end; ++part) take(message(part, true), exchange_);
    }
    exchange_by_neighbor();
    exchange_ = std::move(unused_);
    exchange_by_neighbor();
  }

  void write_interleaved() {
    take_leftovers();
    find_receives();
    exchange();
    for (std::size_t i = 0; i < actions_.size(); i = slot_end(actions_, i)) {
      if (is_message(actions_[i].kind)) continue;
      const std::size_t end = slot_end(actions_, i);
      for (std::size_t part = i; part < end; ++part) row_.add(actions_[part], part);
      for (std::size_t part = i; part < end; ++part) {
        take(message(part, true), exchange_);
        for (; next_ < behind_.size() && behind_[next_].first == part; ++next_) {
          exchange_.push_back(behind_[next_].second);
        }
      }
      if (is_held(i, end)) continue;
      exchange();
      if (alone_ != kNoIndex && !forwards_.empty() && i <= forwards_.back() &&
          forwards_.back() < end) {
        exchange_.push_back(alone_);
        exchange();
      }
    }
    exchange_.insert(exchange_.end(), unused_.begin(), unused_.end());
    exchange();
  }

 private:
  // Returns the index in the old row of the recv that brings the input of action `i` or, if `send`,
  // of the send of its result; kNoIndex if there is none.
  std::uint32_t message(std::size_t i, bool send) const {
    const Action message = message_of(actions_[i], send);
    return message.none() ? kNoIndex : messages_.of(message);
  }

  static void take(std::uint32_t message, std::vector<std::size_t>& into) {
    if (message != kNoIndex) into.push_back(message);
  }

  // Places the sends and recvs of a partial row that belong to none of its actions: sends of
  // earlier results come first, recvs of unused inputs last.
  void take_leftovers() {
    std::vector<bool> known(actions_.size(), false);
    for (std::size_t i = 0; i < actions_.size(); ++i) {
      for (const bool send : {false, true}) {
        const std::uint32_t of = is_of_message(actions_[i].kind) ? message(i, send) : kNoIndex;
        if (of != kNoIndex) known[of] = true;
      }
    }
    for (std::size_t i = 0; i < actions_.size(); ++i) {
      if (!is_message(actions_[i].kind) || known[i]) continue;
      (is_send(actions_[i].kind) ? exchange_ : unused_).push_back(i);
    }
  }

  // Finds the forward or backward that each recv follows.
  void find_receives() {
    for (std::size_t i = 0; i < actions_.size(); ++i) {
      if (actions_[i].kind == ActionKind::kForward) forwards_.push_back(i);
      if (gives_gradient(actions_[i].kind)) backwards_.push_back(i);
    }
    warm_up_ = find_warm_up();
    const bool is_first = row_.rank() == 0;
    for (std::size_t j = 0; j < forwards_.size(); ++j) {
      add_receive(forwards_, j, is_first ? &job_.last : nullptr);
    }
    for (std::size_t j = 0; j < backwards_.size(); ++j) {
      add_receive(backwards_, j, row_.rank() + 1 == job_.ranks ? &job_.first : nullptr);
    }
    std::sort(behind_.begin(), behind_.end());
  }

  // Places the recv of the j-th action of `alike`. `around`, if not null, holds the ordinals of the
  // rank at the other end of the pipeline, which sends inputs to this rank. The input from action n
  // of that rank comes after action n + ranks - 1 of this rank, or earlier.
  void add_receive(const std::vector<std::size_t>& alike, std::size_t j, const Numbers* around) {
    const std::uint32_t receive = message(alike[j], false);
    if (receive == kNoIndex) return;
    if (j == 0) {
      add_first(receive, alike == backwards_);
      return;
    }
    std::size_t before = j - 1;
    if (around != nullptr) {
      Action source = actions_[alike[j]];
      source.stage = source.kind == ActionKind::kForward ? source.stage - 1 : source.stage + 1;
      const std::uint32_t sent = around->of(source);
      if (sent != kNoIndex) before = std::min(before, sent + job_.ranks - 1);
    }
    behind_.emplace_back(alike[before], receive);
  }

  // Places the first recv of a direction. The first forward's recv comes before all actions. The
  // first backward's recv joins the last exchange of the warm-up or, if all forwards are warm-up,
  // is an exchange by itself.
  void add_first(std::uint32_t receive, bool backward) {
    if (backward && warm_up_ == forwards_.size()) {
      alone_ = receive;
    } else if (backward && warm_up_ > 0) {
      behind_.emplace_back(forwards_[warm_up_ - 1], receive);
    } else {
      exchange_.push_back(receive);
    }
  }

  // Returns the number of forwards before the first forward that a backward follows.
  std::size_t find_warm_up() const {
    if (backwards_.empty()) return forwards_.size();
    const auto first = std::lower_bound(forwards_.begin(), forwards_.end(), backwards_.front());
    const auto ahead = static_cast<std::size_t>(first - forwards_.begin());
    const bool in_slot = ahead > 0 && slot_end(actions_, forwards_[ahead - 1]) > backwards_.front();
    if (in_slot || ahead == 0) return ahead - (in_slot ? 1 : 0);
    if (ahead < forwards_.size()) return ahead - 1;
    return warm_up_of_megatron() >= ahead ? ahead : ahead - 1;
  }

  // Returns the warm-up of get_pp_rank_microbatches(), if all groups are as large as the first.
  std::size_t warm_up_of_megatron() const {
    const std::uint32_t stage = actions_[forwards_.front()].stage;
    const auto other = std::find_if(forwards_.begin(), forwards_.end(),
                                    [&](std::size_t i) { return actions_[i].stage != stage; });
    const auto group = static_cast<std::size_t>(other - forwards_.begin());
    const std::size_t chunks = job_.from.depth() / job_.ranks;
    return 2 * (job_.ranks - 1 - row_.rank()) + (chunks - 1) * group + (job_.combined ? 1 : 0);
  }

  // Whether the sends and recvs after the slot [begin, end) wait for a later exchange. Without
  // overlap, those after a forward of the steady state join the exchange after the next backward.
  // Sends and recvs after a slot with neither forward nor backward always wait.
  bool is_held(std::size_t begin, std::size_t end) const {
    bool forward = false;
    for (std::size_t i = begin; i < end; ++i) {
      if (gives_gradient(actions_[i].kind)) return false;
      forward = forward || actions_[i].kind == ActionKind::kForward;
    }
    if (!forward) return true;
    if (job_.overlap || begin < steady_begin()) return false;
    const auto next =
        std::find_if(actions_.begin() + static_cast<std::ptrdiff_t>(end), actions_.end(),
                     [](const Action& action) { return is_of_message(action.kind); });
    return next != actions_.end() && gives_gradient(next->kind);
  }

  std::size_t steady_begin() const {
    return warm_up_ < forwards_.size() ? forwards_[warm_up_] : actions_.size();
  }

  // Writes the pending sends and recvs between two actions, one exchange per neighbor.
  void exchange_by_neighbor() {
    const std::vector<std::size_t> all = std::move(exchange_);
    exchange_.clear();
    for (std::size_t i = 0; i < all.size(); ++i) {
      exchange_.push_back(all[i]);
      const Action& action = actions_[all[i]];
      // The result of a warm-up forward is sent by itself, even if no micro-batches are left and a
      // backward follows.
      const bool warm_up = action.kind == ActionKind::kSendForward &&
                           action.micro_batch + action.stage + 1 < job_.from.stages;
      const bool goes_on =
          i + 1 < all.size() && neighbor_of(actions_[all[i + 1]].kind) == neighbor_of(action.kind);
      if (warm_up || !goes_on) exchange();
    }
  }

  // Writes the pending sends and recvs as one group or, with overlap, one by one.
  void exchange() {
    const auto place = [&](std::size_t i) {
      return place_in_exchange(actions_[i].kind, job_.overlap, row_.rank());
    };
    std::stable_sort(exchange_.begin(), exchange_.end(),
                     [&](std::size_t a, std::size_t b) { return place(a) < place(b); });
    for (const std::size_t i : exchange_) {
      Action action = actions_[i];
      action.overlaps_next = !job_.overlap && i != exchange_.back();
      row_.add(action, i);
    }
    exchange_.clear();
  }

  const MegatronJob& job_;
  const Actions& actions_;
  NewRow& row_;
  Numbers messages_;
  std::vector<std::size_t> forwards_;
  std::vector<std::size_t> backwards_;
  std::size_t warm_up_ = 0;
  // Recvs that follow an action: index of the action, index of the recv.
  std::vector<std::pair<std::size_t, std::size_t>> behind_;
  std::size_t next_ = 0;  // index in `behind_`
  std::uint32_t alone_ = kNoIndex;
  std::vector<std::size_t> exchange_;
  std::vector<std::size_t> unused_;
};

}  // namespace

Schedule in_megatron_order(const Schedule& schedule, bool overlap) {
  const MegatronJob job(schedule, overlap);
  const bool interleaved = schedule.depth() > schedule.ranks.size();
  return with_new_rows(schedule, [&](const Actions& actions, NewRow& row) {
    MegatronRow megatron(job, actions, row);
    if (interleaved) {
      megatron.write_interleaved();
    } else {
      megatron.write_plain();
    }
  });
}

}  // namespace pipesim::models
