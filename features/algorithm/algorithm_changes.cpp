// Tries changes that may remove the fault of an algorithm, one by one.
#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "features/algorithm/algorithm_edits.hpp"
#include "features/algorithm/verify_algorithm.hpp"

namespace pipesim::models {
namespace {

std::string block_name(std::uint32_t rank, std::uint32_t block) {
  return "rank " + std::to_string(rank) + " tb " + std::to_string(block);
}

std::string step_name_of(const AlgoStepRef& ref) {
  return block_name(ref.rank, ref.block) + " step " + std::to_string(ref.step);
}

// Limits of a search for changes: the total number of steps that its tries verify, and the number
// of tries. Each try verifies the whole algorithm, so large files get fewer tries.
constexpr std::uint64_t kMaxTriedSteps = 100'000;
constexpr std::size_t kMaxTries = 12;

class Changes {
 public:
  Changes(const CollectiveAlgorithm& algorithm, const VerifyReport& report,
          const VerifyOptions& options)
      : algorithm_(algorithm), report_(report), options_(options) {}

  std::vector<TriedChange> run() {
    switch (report_.verdict) {
      case AlgoVerdict::kDeadlock:
        if (algorithm_.format == AlgoFormat::kMscclXml) {
          try_for_deadlock();
        } else {
          try_for_plan();
        }
        break;
      case AlgoVerdict::kHangsForLarge:
        try_for_large();
        break;
      case AlgoVerdict::kRace:
        if (algorithm_.format == AlgoFormat::kMscclXml) {
          try_dependencies();
        } else {
          try_nops();
        }
        break;
      default:
        break;
    }
    std::stable_sort(tried_.begin(), tried_.end(),
                     [](const TriedChange& a, const TriedChange& b) { return a.helps > b.helps; });
    return std::move(tried_);
  }

 private:
  using Edit = std::function<void(CollectiveAlgorithm&, VerifyOptions&)>;

  // Whether the changed algorithm has no fault. The verdict on an unknown collective stays
  // undecided, because its result is not checked.
  bool is_right(const VerifyReport& report) const {
    return report.verdict == AlgoVerdict::kCorrect ||
           (report.verdict == AlgoVerdict::kUndecided && report.hangs == AlgoAnswer::kNo &&
            report.safe_launches != AlgoAnswer::kUndecided);
  }

  void attempt(std::string what, const Edit& edit) {
    const std::uint64_t allowed = kMaxTriedSteps / std::max<std::uint64_t>(1, report_.steps);
    if (tried_.size() >= std::max<std::uint64_t>(2, std::min<std::uint64_t>(kMaxTries, allowed)))
      return;
    CollectiveAlgorithm changed = algorithm_;
    VerifyOptions options = options_;
    edit(changed, options);
    const VerifyReport report = verify(changed, options);
    tried_.push_back({std::move(what), report.verdict, is_right(report)});
  }

  void try_for_deadlock() {
    if (report_.slots_needed && *report_.slots_needed > report_.slots) {
      const std::uint32_t slots = *report_.slots_needed;
      attempt(std::to_string(slots) + " slots instead of " + std::to_string(report_.slots),
              [&](CollectiveAlgorithm&, VerifyOptions& options) { options.slots = slots; });
    }
    if (!report_.hang) return;
    try_hasdep();
    // Tries to move a later step in the other direction before the stuck step of a thread block: in
    // all stuck thread blocks together, then in each alone.
    std::vector<AlgoStepRef> stuck;
    for (const Wait& wait : report_.hang->explanation.cycle) {
      if (const auto ref = stuck_step(wait.from.op)) stuck.push_back(*ref);
    }
    if (stuck.size() > 1) {
      std::size_t moved = 0;
      CollectiveAlgorithm probe = algorithm_;
      for (const AlgoStepRef& ref : stuck) moved += move_opposite(probe, ref) ? 1U : 0U;
      if (moved > 1) {
        attempt(sends(step(stuck.front()).kind)
                    ? "receive before the send in each of these thread blocks"
                    : "send before the receive in each of these thread blocks",
                [&](CollectiveAlgorithm& changed, VerifyOptions&) {
                  for (const AlgoStepRef& ref : stuck) move_opposite(changed, ref);
                });
      }
    }
    for (const AlgoStepRef& ref : stuck) {
      CollectiveAlgorithm probe = algorithm_;
      const auto from = move_opposite(probe, ref);
      if (!from) continue;
      attempt(block_name(ref.rank, ref.block) + ": step " + std::to_string(*from) +
                  " before step " + std::to_string(ref.step),
              [&](CollectiveAlgorithm& changed, VerifyOptions&) { move_opposite(changed, ref); });
    }
  }

  // Tries hasdep="1" on each step that other steps wait for, if no step releases these waiters.
  void try_hasdep() {
    for (std::uint32_t rank = 0; rank < algorithm_.ranks.size(); ++rank) {
      const std::vector<AlgoBlock>& blocks = algorithm_.ranks[rank].blocks;
      for (const AlgoBlock& block : blocks) {
        for (const AlgoStep& step : block.steps) {
          for (const AlgoDependency& on : step.dependencies) {
            const std::vector<AlgoStep>& steps = blocks[on.block].steps;
            if (on.step >= steps.size() || steps[on.step].publishes) continue;
            const bool released =
                std::any_of(steps.begin() + on.step, steps.end(), [](const AlgoStep& later) {
                  return later.publishes && later.kind != AlgoStepKind::kNop;
                });
            if (released) continue;
            attempt("hasdep=\"1\" at " + step_name_of({rank, on.block, on.step}),
                    [&, rank](CollectiveAlgorithm& changed, VerifyOptions&) {
                      block_of(changed, rank, on.block).steps[on.step].publishes = true;
                    });
          }
        }
      }
    }
  }

  // -------------------------------------------------------------------------------------------
  // MSCCL++: the steps of the cycle, or the steps whose signal never comes

  void try_for_plan() {
    if (!report_.hang) return;
    const Explanation& why = report_.hang->explanation;
    std::vector<AlgoStepRef> stuck;
    const auto add = [&](const OpInfo& op) {
      if (const auto ref = stuck_step(op)) stuck.push_back(*ref);
    };
    for (const Wait& wait : why.cycle) add(wait.from.op);
    for (const Root& root : why.roots) add(root.first.from.op);
    try_signals_first(stuck);
    try_signaled_channels(stuck);
    for (const AlgoStepRef& ref : stuck) {
      switch (step(ref).kind) {
        case AlgoStepKind::kWait:
        case AlgoStepKind::kRelaxedWait:
          try_wait(ref);
          break;
        case AlgoStepKind::kAcquire:
          try_semaphore(ref);
          break;
        case AlgoStepKind::kBarrier:
          try_barrier(ref);
          break;
        default:
          break;
      }
    }
  }

  // Tries to move the next signal before each stuck wait: all signals together, then each alone.
  void try_signals_first(const std::vector<AlgoStepRef>& stuck) {
    CollectiveAlgorithm probe = algorithm_;
    std::size_t moved = 0;
    for (const AlgoStepRef& ref : stuck) moved += move_signal(probe, ref) ? 1U : 0U;
    if (moved > 1) {
      attempt("signal before the wait in each of these thread blocks",
              [&](CollectiveAlgorithm& changed, VerifyOptions&) {
                for (const AlgoStepRef& ref : stuck) move_signal(changed, ref);
              });
    }
    for (const AlgoStepRef& ref : stuck) {
      probe = algorithm_;
      const auto from = move_signal(probe, ref);
      if (!from) continue;
      attempt(block_name(ref.rank, ref.block) + ": step " + std::to_string(*from) +
                  " before step " + std::to_string(ref.step),
              [&](CollectiveAlgorithm& changed, VerifyOptions&) { move_signal(changed, ref); });
    }
  }

  // Tries other channels for waits without a signal: channels with more signals than waits.
  void try_signaled_channels(const std::vector<AlgoStepRef>& stuck) {
    std::vector<std::int64_t> left = signals_left();
    std::vector<std::pair<AlgoStepRef, std::vector<AlgoChannelId>>> edits;
    std::string what;
    for (const AlgoStepRef& ref : stuck) {
      const AlgoStepKind kind = step(ref).kind;
      if (kind != AlgoStepKind::kWait && kind != AlgoStepKind::kRelaxedWait) continue;
      std::vector<AlgoChannelId> channels = step(ref).channels;
      std::string numbers;
      for (std::size_t i = 0; i < channels.size(); ++i) {
        AlgoChannelId& id = channels[i];
        if (left[id] < 0) id = signaled_channel(id, left);
        numbers += (i == 0                     ? ""
                    : i + 1 == channels.size() ? " and "
                                               : ", ") +
                   std::to_string(algorithm_.channels[id].number);
      }
      if (channels == step(ref).channels) continue;
      what += (what.empty() ? "" : "; ") + step_name_of(ref) + " waits on " +
              (channels.size() == 1 ? "channel " : "channels ") + numbers;
      edits.emplace_back(ref, std::move(channels));
    }
    if (edits.empty()) return;
    attempt(what + ", where there are signals", [&](CollectiveAlgorithm& changed, VerifyOptions&) {
      for (const auto& [ref, channels] : edits) {
        block_of(changed, ref.rank, ref.block).steps[ref.step].channels = channels;
      }
    });
  }

  // Returns the number of signals minus the number of waits of each channel.
  std::vector<std::int64_t> signals_left() const {
    std::vector<std::int64_t> left(algorithm_.channels.size(), 0);
    for (const AlgoRank& rank : algorithm_.ranks) {
      for (const AlgoBlock& block : rank.blocks) {
        for (const AlgoStep& of : block.steps) {
          const bool waits =
              of.kind == AlgoStepKind::kWait || of.kind == AlgoStepKind::kRelaxedWait;
          const bool signals =
              of.kind == AlgoStepKind::kSignal || of.kind == AlgoStepKind::kRelaxedSignal ||
              of.kind == AlgoStepKind::kPutSignal || of.kind == AlgoStepKind::kPutSignalFlush;
          for (const AlgoChannelId id : of.channels) {
            const auto& other = algorithm_.channels[id].other;
            if (waits) --left[id];
            if (signals && other) ++left[*other];
          }
        }
      }
    }
    return left;
  }

  // Returns a channel with the ranks and type of `id` and a spare signal, or `id` itself.
  AlgoChannelId signaled_channel(AlgoChannelId id, std::vector<std::int64_t>& left) const {
    const AlgoChannel& now = algorithm_.channels[id];
    for (AlgoChannelId other = 0; other < algorithm_.channels.size(); ++other) {
      const AlgoChannel& of = algorithm_.channels[other];
      const bool fits = of.rank == now.rank && of.peer == now.peer && of.port == now.port;
      if (!fits || left[other] <= 0) continue;
      --left[other];
      ++left[id];
      return other;
    }
    return id;
  }

  // Tries to remove the wait at `ref`.
  void try_wait(const AlgoStepRef& ref) {
    const AlgoStep& wait = step(ref);
    attempt("without " + step_name_of(ref) + " (" + std::string(step_name(wait.kind)) + ")",
            [&](CollectiveAlgorithm& changed, VerifyOptions&) {
              std::vector<AlgoStep>& steps = block_of(changed, ref.rank, ref.block).steps;
              steps.erase(steps.begin() + ref.step);
            });
  }

  void try_semaphore(const AlgoStepRef& ref) {
    for (const std::uint32_t semaphore : step(ref).semaphores) {
      const std::uint32_t value = algorithm_.ranks[ref.rank].semaphores[semaphore] + 1;
      attempt("init_value " + std::to_string(value) + " of semaphore " + std::to_string(semaphore) +
                  " of rank " + std::to_string(ref.rank),
              [&](CollectiveAlgorithm& changed, VerifyOptions&) {
                changed.ranks[ref.rank].semaphores[semaphore] = value;
              });
    }
  }

  // Tries to make the barrier wait for the number of thread blocks that reach it.
  void try_barrier(const AlgoStepRef& ref) {
    const std::uint32_t barrier = step(ref).barrier;
    const auto is_same = [&](const AlgoStep& of) {
      return of.kind == AlgoStepKind::kBarrier && of.barrier == barrier;
    };
    std::uint32_t blocks = 0;
    for (const AlgoBlock& block : algorithm_.ranks[ref.rank].blocks) {
      blocks += std::any_of(block.steps.begin(), block.steps.end(), is_same) ? 1U : 0U;
    }
    if (blocks == step(ref).barrier_blocks) return;
    attempt("num_threadblocks " + std::to_string(blocks) + " in barrier " +
                std::to_string(barrier) + " of rank " + std::to_string(ref.rank),
            [&](CollectiveAlgorithm& changed, VerifyOptions&) {
              for (AlgoBlock& block : changed.ranks[ref.rank].blocks) {
                for (AlgoStep& of : block.steps) {
                  if (is_same(of)) of.barrier_blocks = blocks;
                }
              }
            });
  }

  const AlgoStep& step(const AlgoStepRef& ref) const {
    return algorithm_.ranks[ref.rank].blocks[ref.block].steps[ref.step];
  }

  // Finds the step that a report names: "tb 2 step 5".
  std::optional<AlgoStepRef> stuck_step(const OpInfo& op) const {
    for (std::uint32_t block = 0; block < algorithm_.ranks[op.rank].blocks.size(); ++block) {
      const std::string before = "tb " + std::to_string(block) + " step ";
      if (op.name.rfind(before, 0) != 0) continue;
      return AlgoStepRef{op.rank, block,
                         static_cast<std::uint32_t>(std::stoul(op.name.substr(before.size())))};
    }
    return std::nullopt;
  }

  void try_for_large() {
    if (!options_.bytes && *report_.hangs_from > 0) {
      const std::uint64_t most = *report_.hangs_from - 1;
      attempt("maxBytes=\"" + std::to_string(most) + "\"",
              [&](CollectiveAlgorithm& changed, VerifyOptions&) { changed.max_bytes = most; });
    }
    const std::uint32_t per_slot = 1;
    attempt(
        "cnt=\"1\": split each step of several chunks into single-chunk steps, alternating sends "
        "and receives",
        [&](CollectiveAlgorithm& changed, VerifyOptions&) { split_steps(changed, per_slot); });
  }

  // An added dependency: `second` waits for `first` on the same rank.
  struct Order {
    AlgoStepRef first, second;
  };

  // Tries to add dependencies, in both directions for each race: the file does not show which of
  // two racing steps should come first.
  void try_dependencies() {
    std::vector<Order> orders;
    tries_ = 0;
    if (!order_races(algorithm_, orders)) return;
    std::string what;
    for (const Order& order : orders) {
      what += (what.empty() ? "a dependency of " : "; of ") + step_name_of(order.second) + " on " +
              step_name_of(order.first);
    }
    tried_.push_back({std::move(what), report_of_last_, true});
  }

  bool order_races(const CollectiveAlgorithm& algorithm, std::vector<Order>& orders) {
    constexpr std::size_t kMaxDepth = 6;
    constexpr std::uint64_t kMaxOrderTries = 64;
    const std::uint64_t allowed =
        std::min(kMaxOrderTries, kMaxTriedSteps / std::max<std::uint64_t>(1, report_.steps));
    if (tries_++ > allowed) return false;
    const VerifyReport report = verify(algorithm, options_);
    report_of_last_ = report.verdict;
    if (is_right(report)) return true;
    if (report.verdict != AlgoVerdict::kRace || orders.size() == kMaxDepth) return false;
    const FoundRace& race =
        report.found_races.empty() ? report.ordered_by_slots.front() : report.found_races.front();
    for (const auto& [first, second] :
         {std::pair(race.first, race.second), std::pair(race.second, race.first)}) {
      CollectiveAlgorithm changed = algorithm;
      block_of(changed, first.rank, first.block).steps[first.step].publishes = true;
      block_of(changed, second.rank, second.block)
          .steps[second.step]
          .dependencies.push_back({first.block, first.step});
      orders.push_back({first, second});
      if (order_races(changed, orders)) return true;
      orders.pop_back();
    }
    return false;
  }

  // Tries to add `nop`s. In MSCCL++, a `nop` orders the threads of a block: reads after a wait, and
  // a signal after a write.
  void try_nops() {
    std::vector<std::string> added;
    tries_ = 0;
    if (!add_nops(algorithm_, report_, added)) return;
    std::string what;
    for (const std::string& nop : added) what += (what.empty() ? "'nop' " : "; ") + nop;
    tried_.push_back({std::move(what), report_of_last_, true});
  }

  bool add_nops(const CollectiveAlgorithm& algorithm, const VerifyReport& report,
                std::vector<std::string>& added) {
    constexpr std::size_t kMaxNops = 6;
    constexpr std::uint64_t kMaxNopTries = 32;
    const std::uint64_t allowed =
        std::min(kMaxNopTries, kMaxTriedSteps / std::max<std::uint64_t>(1, report_.steps));
    if (report.found_races.empty() || added.size() == kMaxNops) return false;
    const FoundRace& race = report.found_races.front();
    for (const auto& [at, behind] : {std::pair(race.second, false), std::pair(race.first, true)}) {
      const std::uint32_t before = at.step + (behind ? 1 : 0);
      if (at.block == kNoAlgoIndex || at.step == kNoAlgoIndex) continue;
      const std::vector<AlgoStep>& steps = algorithm.ranks[at.rank].blocks[at.block].steps;
      const auto is_nop = [&](std::uint32_t i) {
        return i < steps.size() && steps[i].kind == AlgoStepKind::kSyncThreads;
      };
      if (before == 0 || is_nop(before) || is_nop(before - 1) || tries_++ > allowed) continue;
      CollectiveAlgorithm changed = algorithm;
      insert_nop(block_of(changed, at.rank, at.block).steps, before);
      const VerifyReport next = verify(changed, options_);
      report_of_last_ = next.verdict;
      // Reports count steps as the file does, without added `nop`s.
      const auto added_before =
          std::count_if(steps.begin(), steps.begin() + at.step,
                        [](const AlgoStep& step) { return step.place.line == 0; });
      added.push_back(
          (behind ? "behind " : "before ") +
          step_name_of({at.rank, at.block, at.step - static_cast<std::uint32_t>(added_before)}));
      if (is_right(next)) return true;
      const bool fewer =
          next.verdict == AlgoVerdict::kRace && next.found_races.size() < report.found_races.size();
      if (fewer && add_nops(changed, next, added)) return true;
      added.pop_back();
    }
    return false;
  }

  const CollectiveAlgorithm& algorithm_;
  const VerifyReport& report_;
  const VerifyOptions& options_;
  std::vector<TriedChange> tried_;
  std::uint64_t tries_ = 0;                             // number of orders or added `nop`s tried
  AlgoVerdict report_of_last_ = AlgoVerdict::kCorrect;  // verdict of the last of these tries
};

}  // namespace

std::vector<TriedChange> try_changes(const CollectiveAlgorithm& algorithm,
                                     const VerifyReport& report, const VerifyOptions& options) {
  return Changes(algorithm, report, options).run();
}

}  // namespace pipesim::models
