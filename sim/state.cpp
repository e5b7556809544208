#include "sim/state.hpp"

#include <algorithm>
#include <bit>

namespace pipesim::sim {

State::State() = default;
State::State(const State&) = default;
State::State(State&&) noexcept = default;
State& State::operator=(const State&) = default;
State& State::operator=(State&&) noexcept = default;
State::~State() = default;

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
  if (plan.aborts) state.aborted.assign(plan.communicator_ranks.size(), 0);
  if (plan.open) {
    state.rounds = IdVector<CommunicatorId, Rounds>(plan.communicators.size());
    state.seqs.assign(plan.communicator_ranks.size(), 0);
  }
  if (plan.in_calls) state.stalled = IdVector<RankId, std::vector<CallId>>(plan.rank_count);
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

std::uint32_t State::op_at(StreamId id, const StreamQueue::Items::Iterator& at) const {
  const ActorId actor = (*at).actor();
  const auto is_same = [&](StreamItem item) {
    return item.kind() == StreamItem::Kind::kOp && item.actor() == actor;
  };
  const StreamQueue::Items items = items_of(id);
  const auto before = std::count_if(items.begin(), at, is_same);
  return actors[actor].done + static_cast<std::uint32_t>(before);
}

const Round& State::round_of(const Call& call) const {
  const Rounds& all = rounds[call.communicator];
  return all.rounds[seqs[call.member] - 1 - all.passed];
}

// Returns the position of a member along the ring, which starts at the root or, for kToRoot, at the
// member after the root.
std::uint32_t State::place_in(const Plan& plan, const Round& round, std::uint32_t member) {
  const Call& first = plan.calls[round.first.call];
  const Communicator& communicator = plan.communicators[first.communicator];
  const std::uint32_t count = communicator.ranks_end - communicator.ranks;
  const std::uint32_t begin = first.peer + (first.flow == Flow::kToRoot ? 1 : 0);
  return (member + count - (begin - communicator.ranks) - communicator.ranks) % count;
}

namespace {

// Whether `from` passes its data of the flow to a buffer of `to`.
bool flows(const Plan& plan, const Round& round, std::uint32_t from, std::uint32_t to) {
  return is_ring(plan.calls[round.first.call].flow) &&
         State::place_in(plan, round, to) == State::place_in(plan, round, from) + 1;
}

// Whether `place` waits for `other` in a binomial tree: for one of its ancestors or children. The
// parent of a place is the place without its highest bit.
bool waits_in_tree(std::uint32_t place, std::uint32_t other) {
  if (other > place) return (other ^ std::bit_floor(other)) == place;
  while (place > other) place ^= std::bit_floor(place);
  return place == other;
}

}  // namespace

bool State::has_space(const Plan& plan, const Call& from, std::uint32_t to) const {
  const Rounds& all = rounds[from.communicator];
  std::uint32_t steps = 0;
  for (std::uint32_t seq = seqs[to]; seq < seqs[from.member]; ++seq) {
    const Round& round = all.rounds[seq - all.passed];
    if (flows(plan, round, from.member, to)) steps += plan.calls[round.first.call].steps;
  }
  return steps <= kChannelSteps;
}

bool State::waits_for(const Plan& plan, const Call& call, std::uint32_t other) const {
  const Round& round = round_of(call);
  const Call& first = plan.calls[round.first.call];
  if (other == call.member || seqs[other] >= seqs[call.member]) return false;
  const std::uint32_t place = place_in(plan, round, call.member);
  const std::uint32_t place_of_other = place_in(plan, round, other);
  if (first.flow == Flow::kTree) return waits_in_tree(place, place_of_other);
  if (first.flow == Flow::kStar) return place == 0 || place_of_other == 0;
  if (first.flow == Flow::kAll || first.steps == 0) return true;
  if (place_of_other < place) return true;
  return flows(plan, round, call.member, other) && !has_space(plan, call, other);
}

// Whether waits_for() is false for every other member. Needs no loop over the members of a ring.
bool State::waits_for_none(const Plan& plan, const Call& call) const {
  const Round& round = round_of(call);
  const Call& first = plan.calls[round.first.call];
  const Communicator& communicator = plan.communicators[call.communicator];
  const std::uint32_t count = communicator.ranks_end - communicator.ranks;
  if (round.arrived == count) return true;
  if (first.flow == Flow::kAll) return false;
  const std::uint32_t place = place_in(plan, round, call.member);
  if (!is_ring(first.flow)) {
    for (std::uint32_t i = communicator.ranks; i < communicator.ranks_end; ++i) {
      if (waits_for(plan, call, i)) return false;
    }
    return true;
  }
  if (first.steps == 0 || round.in_flow < place) return false;
  const std::uint32_t next = communicator.ranks + (call.member + 1 - communicator.ranks) % count;
  return place + 1 == count || has_space(plan, call, next);
}

std::uint32_t State::item_in_line(const Plan& plan, LineId line, std::uint32_t n) const {
  const Ring<StreamId>& ops = lines[line];
  std::uint32_t before = 0;  // number of earlier ops of the line on the same stream
  for (std::uint32_t i = 0; i < n; ++i) before += ops[i] == ops[n] ? 1u : 0u;
  std::uint32_t index = 0;
  for (const StreamItem item : items_of(ops[n])) {
    const bool is_in = item.kind() == StreamItem::Kind::kOp && plan.is_in(item.actor(), line);
    if (is_in && before-- == 0) break;
    ++index;
  }
  return index;
}

}  // namespace pipesim::sim
