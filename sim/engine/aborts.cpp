// Communicators that a rank aborts (rule 9.9).
#include <utility>
#include <vector>

#include "sim/engine/engine_impl.hpp"

namespace pipesim::sim {

// Rule 9.9: aborts the communicator of the thread's step, for the thread's rank. The rank's active
// calls complete at once; its later calls complete when they become active.
void Engine::abort(ThreadId id) {
  const Actor& actor = plan_.actors[state_.threads[id].at];
  const Communicator& communicator = plan_.communicators[actor.communicator];
  std::uint32_t member = communicator.ranks;
  while (plan_.communicator_ranks[member] != actor.rank) ++member;
  if (std::exchange(state_.aborted[member], 1) != 0) return;
  state_.communicators[actor.communicator].broken = true;
  progress();
  std::vector<CallId> active;
  for (std::uint32_t u = communicator.users; u < communicator.users_end; ++u) {
    for (const CallId call : plan_.calls_of(plan_.communicator_users[u])) {
      if (plan_.calls[call].member != member) continue;
      const CallStage stage = state_.calls[call];
      if (stage != CallStage::kInactive && stage != CallStage::kDone) active.push_back(call);
    }
  }
  for (const CallId call : active) abandon(call);
}

// Rule 9.9: completes an active call of a rank that aborts its communicator. The peers' calls that
// run with this call never end.
void Engine::abandon(CallId id) {
  const Call& call = plan_.calls[id];
  if (call.kind == CallKind::kCollective) {
    const Communicator& communicator = plan_.communicators[call.communicator];
    const bool active = state_.calls[id] == CallStage::kActive;
    const bool together = !active && (!communicator.open || call.flow == Flow::kAll);
    for (std::uint32_t i = communicator.ranks; together && i < communicator.ranks_end; ++i) {
      if (i != call.member) cut(state_.in_round[i]);
    }
    state_.in_round[call.member] = CallId();
    if (!communicator.open) --state_.communicators[call.communicator].in_round;
  } else {
    ChannelState& channel = state_.channels[call.channel];
    const bool met = channel.sender.valid() && channel.receiver.valid();
    if (met) cut(call.kind == CallKind::kSend ? channel.receiver : channel.sender);
    if (met || channel.sender == id) channel.sender = CallId();
    if (met || channel.receiver == id) channel.receiver = CallId();
  }
  finish_call(id);
}

// Rule 9.9: marks a call as never ending, because its peer has aborted the communicator.
void Engine::cut(CallId id) {
  if (!id.valid()) return;
  CallStage& stage = state_.calls[id];
  if (stage == CallStage::kRunning || stage == CallStage::kHangs) stage = CallStage::kCut;
}

// Rule 9.9: completes a call that becomes active on an aborted communicator, in a separate event.
void Engine::finish_aborted(CallId id) {
  state_.calls[id] = CallStage::kRunning;
  queue_.push(queue_.now(), Priority::kDevice, {EventKind::kCallEnds, id.value});
}

// Whether the event is void, because an abort has already ended or cut off its calls.
bool Engine::is_void(Event event) const {
  switch (event.kind) {
    case EventKind::kRoundEnds:
      return broken(CommunicatorId{event.target});
    case EventKind::kPairEnds:
      return !state_.channels[ChannelId{event.target}].sender.valid();
    case EventKind::kCallEnds:
      return state_.calls[CallId{event.target}] != CallStage::kRunning;
    default:
      return false;
  }
}

}  // namespace pipesim::sim
