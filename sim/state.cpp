#include "sim/state.hpp"

namespace pipesim::sim {

State State::initial(const Plan& plan) {
  State state;
  state.actors = IdVector<ActorId, ActorState>(plan.actors.size());
  state.registers = IdVector<RegisterId, RegisterState>(plan.registers.size());
  state.edges = IdVector<EdgeId, EdgeState>(plan.edges.size());
  state.streams = IdVector<StreamId, StreamState>(plan.streams.size());
  state.threads = IdVector<ThreadId, ThreadState>(plan.threads.size());
  state.members_started = IdVector<CollectiveId, std::uint32_t>(plan.collectives.size(), 0);
  state.hangs = IdVector<CollectiveId, std::uint8_t>(plan.collectives.size(), 0);
  state.health = IdVector<RankId, Health>(plan.rank_count, Health::kSound);
  state.communicators = IdVector<CommunicatorId, CommunicatorState>(plan.communicators.size());
  state.signals = IdVector<SignalId, SignalState>(plan.signals.size());
  state.locks = IdVector<LockId, LockState>(plan.locks.size());
  state.devices = IdVector<DeviceId, DeviceState>(plan.devices.size());
  state.calls = IdVector<CallId, CallStage>(plan.calls.size(), CallStage::kInactive);
  state.channels = IdVector<ChannelId, ChannelState>(plan.channels.size());
  state.chains = IdVector<ChainId, ChainState>(plan.chains.size());
  state.lines = IdVector<LineId, Ring<StreamId>>(plan.lines.size());
  state.meetings = IdVector<MeetingId, MeetingState>(plan.meetings.size());
  state.came.assign(plan.meeting_ranks.size(), 0);
  state.joined.assign(plan.join_count, 0);
  state.arrived.assign(plan.communicator_ranks.size(), 0);
  state.in_round.assign(plan.communicator_ranks.size(), CallId());
  for (const DeviceId id : ids_of(plan.devices)) {
    state.devices[id].hardware_queues.resize(plan.devices[id].hardware_queues);
  }
  for (const RegisterId id : ids_of(plan.registers)) {
    state.registers[id].free = plan.registers[id].slots;
    state.registers[id].at_least = plan.edges_of(id).size();
  }
  for (const ActorId id : ids_of(plan.actors)) {
    state.actors[id].missing = plan.actors[id].inputs_end - plan.actors[id].inputs;
  }
  for (const CommunicatorId id : ids_of(plan.communicators)) {
    state.communicators[id].exists = !plan.communicators[id].at_first_use;
  }
  return state;
}

std::uint32_t State::item_in_line(const Plan& plan, LineId line, std::uint32_t n) const {
  const Ring<StreamId>& acts = lines[line];
  std::uint32_t before = 0;  // acts of the line that precede it on its stream
  for (std::uint32_t i = 0; i < n; ++i) before += acts[i] == acts[n] ? 1 : 0;
  const Ring<StreamItem>& items = streams[acts[n]].items;
  for (std::uint32_t i = 0;; ++i) {
    if (items[i].kind() != StreamItem::Kind::kAct) continue;
    if (plan.is_in(items[i].actor(), line) && before-- == 0) return i;
  }
}

}  // namespace pipesim::sim
