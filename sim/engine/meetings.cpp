// Meetings of hosts: first uses of connections, and steps in which hosts wait for each other.
#include <algorithm>
#include <cstddef>

#include "sim/engine/engine_impl.hpp"

namespace pipesim::sim {

// Rule 9.7: joins all meetings that the thread's op needs, first those of sends and recvs, then
// those of collectives. Returns false if the thread must wait or, in a stepper, continues in
// another event.
bool Engine::connect(ThreadId id) {
  ThreadState& thread = state_.threads[id];
  const Actor& actor = plan_.actors[thread.at];
  std::uint32_t i = actor.needs;
  while (i < actor.needs_end) {
    const MeetingKind kind = plan_.meetings[plan_.needs[i].meeting].kind;
    bool was_last = false;
    thread.unmet = 0;
    for (; i < actor.needs_end && plan_.meetings[plan_.needs[i].meeting].kind == kind; ++i) {
      const Need& need = plan_.needs[i];
      std::uint32_t& joined = state_.joined[need.join];
      const bool is_new = joined == 0;
      if (is_new) joined = ++state_.came[need.member];
      if (joined <= state_.meetings[need.meeting].met) continue;
      if (come(id, need, joined, is_new)) {
        was_last = true;
      } else {
        ++thread.unmet;
      }
    }
    if (thread.unmet > 0) return false;
    // In a stepper, events of the other threads can happen before this thread's next step.
    if (was_last && one_by_one_) {
      wake(id);
      return false;
    }
  }
  return true;
}

// Rule 9.7: joins the meeting of a `meet` step. Returns false if the thread must wait or, in a
// stepper, continues in another event.
bool Engine::meet(ThreadId id) {
  ThreadState& thread = state_.threads[id];
  const Need& need = plan_.needs[plan_.actors[thread.at].needs];
  thread.needed = ++state_.came[need.member];
  thread.unmet = 1;
  if (!come(id, need, thread.needed, true)) return false;
  if (one_by_one_) wake(id);
  return !one_by_one_;
}

// Rule 9.7: records the arrival of a thread at a meeting, the `number`-th for its rank. Returns
// true if all ranks have arrived `number` times: the thread need not wait.
bool Engine::come(ThreadId id, const Need& need, std::uint32_t number, bool is_new) {
  const Meeting& meeting = plan_.meetings[need.meeting];
  MeetingState& state = state_.meetings[need.meeting];
  progress();
  if (is_new && number == state.met + 1) ++state.arrived;
  const std::uint32_t ranks = meeting.ranks_end - meeting.ranks;
  if (state.arrived == ranks && !(plan_.faulty && any_dead(meeting))) finish_meeting(need.meeting);
  if (number <= state.met) return true;
  state.blocked.push_back({id, number});
  return false;
}

// Rule 9.7: counts a meeting of all ranks, and wakes the threads that waited for it.
void Engine::finish_meeting(MeetingId id) {
  const Meeting& meeting = plan_.meetings[id];
  MeetingState& state = state_.meetings[id];
  const auto came = state_.came.begin();
  state.met = *std::min_element(came + meeting.ranks, came + meeting.ranks_end);
  state.arrived = static_cast<std::uint32_t>(
      std::count_if(came + meeting.ranks, came + meeting.ranks_end,
                    [&](std::uint32_t often) { return often > state.met; }));
  const auto is_free = [&](const MeetingState::Waiter& waiter) {
    if (waiter.needed > state.met) return false;
    if (--state_.threads[waiter.thread].unmet == 0) wake(waiter.thread);
    return true;
  };
  // A loop keeps the order; std::remove_if may call is_free(), which wakes threads, in any order.
  std::size_t kept = 0;
  for (std::size_t i = 0; i < state.blocked.size(); ++i) {
    if (!is_free(state.blocked[i])) state.blocked[kept++] = state.blocked[i];
  }
  state.blocked.resize(kept);
}

// Rule 10.2: whether some rank of the meeting is dead.
bool Engine::any_dead(const Meeting& meeting) const {
  const auto ranks = plan_.meeting_ranks.begin();
  return std::any_of(ranks + meeting.ranks, ranks + meeting.ranks_end,
                     [&](RankId rank) { return dead(rank); });
}

}  // namespace pipesim::sim
