// The event loop and the results of a run. docs/reference/rules.md defines the behavior of the
// engine; each definition in this folder names the rule that it implements.
//
// A run is a loop that takes the next event and calls its handler. The engine never polls: each
// actor counts the conditions that its next op lacks, messages lower that count, and an op is ready
// at zero. A launch costs a walk over the actor's own inputs and outputs; so does an end. No event
// allocates: queues are rings that keep their memory, and queues of blocked threads are linked
// through the threads.
//
// tests/twin (a second implementation, on random plans) and tests/unit/sim test the engine.
#include "sim/engine.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/engine/engine_impl.hpp"
#include "sim/fixed_order.hpp"

namespace pipesim::sim {

Outcome::Outcome() = default;
Outcome::Outcome(const Outcome&) = default;
Outcome::Outcome(Outcome&&) noexcept = default;
Outcome& Outcome::operator=(const Outcome&) = default;
Outcome& Outcome::operator=(Outcome&&) noexcept = default;
Outcome::~Outcome() = default;

// Rule 6: runs to the end and collects the outcome.
Outcome Engine::run() {
  end_of_run_ = later(options_.until, Duration{1});
  if (plan_.faulty) set_timers_of_plan();
  send_start_messages();
  RunEnd end = options_.order != nullptr ? run_order() : run_events();
  if (ops_done_ == plan_.op_count) end = RunEnd::kCompleted;
  account_unfinished();
  Outcome outcome;
  outcome.end = end;
  outcome.last_progress = last_progress_;
  outcome.ops_done = ops_done_;
  outcome.events = events_;
  outcome.order_steps = order_steps_;
  outcome.digests = RankDigests(plan_.rank_count);
  for (const ThreadId id : ids_of(digests_)) {
    outcome.digests[plan_.threads[id].rank].add(digests_[id]);
  }
  outcome.mismatches = std::move(mismatches_);
  if (end == RunEnd::kStuck && !timers_.empty()) {
    outcome.state = state_;
    teardown();
  } else {
    outcome.state = std::move(state_);
  }
  outcome.device_errors = std::move(device_errors_);
  outcome.deaths = std::move(deaths_);
  outcome.op_times = std::move(op_times_);
  outcome.log = std::move(log_);
  return outcome;
}

// Rule 2, for an order given by the caller: handles the given events first, each at its own time,
// or now if that time has passed. Then continues as usual.
RunEnd Engine::run_order() {
  for (const Event event : *options_.order) {
    if (!queue_.contains(event)) break;
    ++order_steps_;
    ++events_;
    while (timers_.next_time() < queue_.time_of(event)) fire(timers_.pop());
    queue_.take(event);
    handle(event);
  }
  return run_events();
}

// Rule 2: handles events in order until none is left or a limit ends the run.
RunEnd Engine::run_events() {
  // Number of events between two checks of the stop flag: about a millisecond.
  constexpr std::uint64_t kLookInterval = 1 << 14;
  while (!queue_.empty()) {
    if (timers_.next_time() < std::min(queue_.next_time(), end_of_run_)) {
      fire(timers_.pop());
      continue;
    }
    if (queue_.next_time() >= end_of_run_) {
      return end_of_run_ == kEndOfTime ? RunEnd::kTimeLimit : RunEnd::kUntil;
    }
    const bool look = events_ % kLookInterval == kLookInterval - 1;
    if (look) tell_progress();
    if (events_ == options_.max_events || (look && is_stopped(options_))) {
      return RunEnd::kInterrupted;
    }
    ++events_;
    const Event event = queue_.pop();
    prefetch_next();
    handle(event);
  }
  return RunEnd::kStuck;
}

// ---------------------------------------------------------------------------------------------
// Results

void Engine::tell_progress() const {
  if (options_.progress != nullptr) options_.progress->tell(ops_done_, queue_.now().ns);
}

// Rule 3.6: records that the actor's thread enters its next op. For a source that waits for more
// outside input, this can be the op after its last one.
void Engine::note_enter(ActorId id) {
  const std::uint32_t k = state_.actors[id].launched;
  if (id == options_.until_actor && k == options_.until_k) {
    end_of_run_ = std::min(end_of_run_, later(queue_.now(), Duration{1}));
  }
  if (!op_times_.empty() && k < plan_.actors[id].ops) {
    op_times_.of(id, k).enter = queue_.now();
  }
  if (options_.keep_log) log_.push_back({queue_.now(), id, k, false});
}

// Rule 8: records the times of launched ops that have not ended.
void Engine::account_unfinished() {
  IdVector<ActorId, std::uint32_t> seen(plan_.actors.size(), 0);
  for (const StreamId id : ids_of(state_.streams)) {
    LaunchTimes launches(state_.streams[id]);
    Time start = state_.streams[id].head_start;
    for (const StreamItem item : state_.items_of(id)) {
      if (item.kind() == StreamItem::Kind::kOp) {
        const std::uint32_t k = state_.actors[item.actor()].done + seen[item.actor()]++;
        keep_times(item.actor(), k, {launches.next(), start, kNever});
      }
      start = kNever;
    }
  }
}

Outcome run(const Plan& plan, const RunOptions& options) {
  if (options.progress != nullptr) options.progress->ops = plan.op_count;
  std::optional<Outcome> outcome;
  if (options.engine != EngineKind::kEvents && fixed_order_obstacle(plan, options) == nullptr) {
    outcome = run_in_fixed_order(plan, options);
  }
  if (!outcome) outcome = Engine(plan, options).run();
  if (options.progress != nullptr) options.progress->over = true;
  return std::move(*outcome);
}

}  // namespace pipesim::sim
