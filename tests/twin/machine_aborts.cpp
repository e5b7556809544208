// Aborts of communicators, and waits for a communicator's calls [9.9], in machine.hpp.
#include <algorithm>
#include <utility>

#include "tests/twin/machine.hpp"

namespace pipesim::twin {

/// Puts a mark after the last op of the rank, on each stream, that has a call on the communicator.
/// On a communicator of hosts only collective calls count.
bool Machine::blocks_for_calls(int t, Op op) {
  const int c = actor(op.actor).drained;
  const auto is_of = [&](const Call& call) {
    return call.communicator == c &&
           (!at(spec.communicators, c).on_host || call.kind == CallKind::kCollective);
  };
  for (int s = 0; s < count_of(spec.streams); ++s) {
    if (at(spec.streams, s).rank != rank_of(op.actor)) continue;
    std::deque<Entry>& entries = stream_state(s).entries;
    const auto last = std::find_if(entries.rbegin(), entries.rend(), [&](const Entry& entry) {
      if (!entry.op) return false;
      const std::vector<Call>& all = actor(entry.op->actor).calls;
      return std::any_of(all.begin(), all.end(), is_of);
    });
    if (last == entries.rend()) continue;
    if (last != entries.rbegin()) branches.insert("9.9 waits for part of a stream");
    Entry mark;
    mark.synchronizes = t;
    entries.insert(last.base(), mark);
    thread_state(t).streams_marked.insert(s);
  }
  if (!thread_state(t).streams_marked.empty()) branches.insert("9.9 waits for calls");
  return !thread_state(t).streams_marked.empty();
}

void Machine::abort(int c, int rank) {
  if (!aborted.insert({c, rank}).second) return;
  last_progress = now;
  std::vector<CallRef> active;
  for (const auto& [op, states] : calls) {
    if (rank_of(op.actor) != rank || is_done(op)) continue;
    for (int i = 0; i < count_of(states); ++i) {
      if (call_of({op, i}).communicator != c) continue;
      if (at(states, i).active && !at(states, i).done) active.push_back({op, i});
    }
  }
  for (const CallRef& ref : active) abandon(ref);
}

/// Ends an active call of a rank that aborts its communicator.
void Machine::abandon(CallRef ref) {
  branches.insert("9.9 ends an active call");
  const Call& call = call_of(ref);
  if (call.kind != CallKind::kCollective) {
    ChannelState& channel = channel_of(ref);
    if (const std::optional<CallRef> other = call_state(ref).met) cut(*other);
    if (channel.send == ref) channel.send.reset();
    if (channel.receive == ref) channel.receive.reset();
  } else if (is_open(call.communicator)) {
    const std::vector<CallRef> seq = arrived_with(ref);
    const bool together = call_state(ref).running && call.flow == Flow::kAll;
    for (const CallRef& other : seq) {
      if (together && other != ref) cut(other);
    }
  } else {
    std::vector<CallRef>& arrived = round_state(call.communicator).arrived;
    for (const CallRef& other : arrived) {
      if (call_state(ref).running && other != ref) cut(other);
    }
    std::erase(arrived, ref);
  }
  finish_call(ref);
}

void Machine::cut(CallRef ref) {
  branches.insert("9.9 cuts off a call of another rank");
  CallState& state = change_call(ref);
  state.running = false;
  state.cut = true;
  state.met.reset();
  state.hangs_on = -1;
}

/// Whether an abort has ended or cut off a call of the event.
bool Machine::is_void(const Event& event) const {
  return std::any_of(event.calls.begin(), event.calls.end(),
                     [&](const CallRef& ref) { return !call_state(ref).running; });
}

/// Whether aborts have ended or cut off the calls of an op that hung on a link.
bool Machine::aborts_ended(Op op) const {
  const auto found = calls.find(op);
  if (aborted.empty() || found == calls.end()) return false;
  return std::none_of(found->second.begin(), found->second.end(),
                      [](const CallState& state) { return state.hangs_on >= 0; });
}

bool Machine::is_broken(int c) const {
  const auto first = aborted.lower_bound({c, -1});
  return first != aborted.end() && first->first == c;
}

}  // namespace pipesim::twin
