#include "sim/interleavings/stubborn_set.hpp"

#include <algorithm>
#include <iterator>

namespace pipesim::sim {
namespace {

// Maximum number of nodes of happens-before. Each node has a row with a bit per node: 32 MiB in
// all.
constexpr std::uint32_t kMaxNodes = 1 << 14;

// Number of rivals above which they are forgotten: 50 MB.
constexpr std::size_t kMaxRivals = 1 << 22;

// Maximum number of ops in a chain of needs.
constexpr std::uint32_t kMaxDepth = 64;

constexpr std::uint32_t kNotPending = 0xffffffff;

constexpr std::uint16_t kNotKnown = 0xffff;
static_assert(kMaxNodes < kNotKnown);

// Returns the first number in [begin, end) with the property, or `end`. All numbers after one with
// the property have it, too.
template <typename Property>
std::uint32_t first_that(std::uint32_t begin, std::uint32_t end, const Property& property) {
  while (begin < end) {
    const std::uint32_t middle = begin + (end - begin) / 2;
    if (property(middle)) {
      end = middle;
    } else {
      begin = middle + 1;
    }
  }
  return begin;
}

}  // namespace

StubbornSets::StubbornSets(const Plan& plan)
    : plan_(plan),
      happens_before_(plan, kMaxNodes),
      takers_(plan.threads.size()),
      place_of_taker_(plan.actors.size(), 0),
      may_block_(plan.actors.size(), 0),
      sends_at_launch_(plan.actors.size(), 0),
      used_at_launch_(plan.actors.size()),
      used_at_end_(plan.actors.size()) {
  for (const ActorId id : ids_of(plan.actors)) {
    const Actor& actor = plan.actors[id];
    if (actor.ops == 0) continue;
    if (plan.threads[actor.thread].order == ThreadOrder::kArrival) {
      takers_[actor.thread].push_back(id);
    }
  }
  for (std::vector<ActorId>& takers : takers_) {
    // Messages to a single actor have the same effect in any order.
    if (takers.size() < 2) takers.clear();
    for (std::uint32_t i = 0; i < takers.size(); ++i) place_of_taker_[takers[i]] = i;
  }
  find_blocking();
  for (const Edge& edge : plan.edges) {
    if (edge.data_at_launch) sends_at_launch_[plan.registers[edge.source].producer] = 1;
    if (edge.ack_at_launch) sends_at_launch_[edge.consumer] = 1;
  }
  // Events before an acknowledgement in place are not modeled.
  const bool in_place = std::any_of(plan.edges.begin(), plan.edges.end(),
                                    [](const Edge& edge) { return edge.in_place.valid(); });
  // Also not modeled: the events that decide whether a rank is inside its library when a call meets
  // its peer, and the calls that an abort ends.
  all_disturb_ = in_place || plan.in_calls || plan.aborts;
  find_resources();
  if (!plan_.sources.empty()) find_senders();
  if (happens_before_.known()) find_sender_nodes();
}

// Stores the senders of the messages that each launch needs, for lacks(). They are the same in all
// states.
void StubbornSets::find_sender_nodes() {
  for (const ActorId id : ids_of(plan_.actors)) {
    if (takers_[plan_.actors[id].thread].empty()) continue;
    if (sent_by_.empty()) sent_by_.resize(happens_before_.nodes());
    for (std::uint32_t k = 0; k < plan_.actors[id].wanted; ++k) {
      auto& [first, end] = sent_by_[happens_before_.node(id, k, Phase::kLaunch)];
      first = static_cast<std::uint32_t>(sender_nodes_.size());
      for_each_sender(plan_, id, k, [&](ActorId sender, std::uint64_t op, Phase phase) {
        if (op >= plan_.actors[sender].ops) return;
        sender_nodes_.push_back(
            happens_before_.node(sender, static_cast<std::uint32_t>(op), phase));
      });
      end = static_cast<std::uint32_t>(sender_nodes_.size());
    }
  }
}

void StubbornSets::find_senders() {
  senders_ = IdVector<ChannelId, std::vector<ActorId>>(plan_.channels.size());
  for (const Call& call : plan_.calls) {
    if (call.kind != CallKind::kSend) continue;
    const ChannelId any = plan_.channels[call.channel].any;
    if (!any.valid() || plan_.actors[call.actor].ops == 0) continue;
    std::vector<ActorId>& senders = senders_[any];
    if (senders.empty() || senders.back() != call.actor) senders.push_back(call.actor);
  }
}

void StubbornSets::find_blocking() {
  IdVector<StreamId, std::uint64_t> ops(plan_.streams.size(), 0);
  for (const Actor& actor : plan_.actors) {
    if (actor.stream.valid()) ops[actor.stream] += actor.ops;
  }
  for (const Device& device : plan_.devices) {
    if (device.launch_queue == 0) continue;
    std::uint64_t all = 0;
    for (std::uint32_t i = device.streams; i < device.streams_end; ++i) {
      all += ops[plan_.device_streams[i]];
    }
    for (std::uint32_t i = device.streams; i < device.streams_end; ++i) {
      ops[plan_.device_streams[i]] = all;
    }
  }
  for (const ActorId id : ids_of(plan_.actors)) {
    const Actor& actor = plan_.actors[id];
    const bool creates =
        actor.collective.valid() &&
        plan_.communicators[plan_.collectives[actor.collective].communicator].at_first_use;
    const bool queue_can_fill =
        actor.stream.valid() && ops[actor.stream] > plan_.streams[actor.stream].launch_queue;
    const bool connects = actor.needs != actor.needs_end;
    may_block_[id] =
        creates || connects || actor.blocking || actor.input.waits || queue_can_fill ? 1 : 0;
  }
}

// ---------------------------------------------------------------------------------------------
// Resources: objects for which the order of launches and ends matters

StubbornSets::Resource StubbornSets::add_resource() {
  users_.emplace_back();
  return static_cast<Resource>(users_.size() - 1);
}

void StubbornSets::use(Resource resource, ActorId actor, Phase phase) {
  std::vector<Resource>& used =
      phase == Phase::kLaunch ? used_at_launch_[actor] : used_at_end_[actor];
  if (!used.empty() && used.back() == resource) return;
  used.push_back(resource);
  users_[resource].push_back({actor, phase});
}

// Finds the locks that each thread acquires and releases in turn: only the holder releases such a
// lock.
void StubbornSets::find_paired_locks() {
  paired_ = IdVector<LockId, std::uint8_t>(plan_.locks.size(), 1);
  for (const Thread& thread : plan_.threads) {
    IdVector<LockId, std::uint8_t> held(plan_.locks.size(), 0);
    for (std::uint32_t i = thread.program; i < thread.program_end; ++i) {
      const Actor& actor = plan_.actors[plan_.op(thread, i)];
      if (!actor.lock.valid()) continue;
      const bool locks = actor.role == Role::kLock;
      if ((held[actor.lock] != 0) == locks) paired_[actor.lock] = 0;
      held[actor.lock] = locks ? 1 : 0;
    }
  }
}

void StubbornSets::find_resources() {
  if (!plan_.locks.empty()) find_paired_locks();
  const Resource locks = static_cast<Resource>(users_.size());
  for (std::uint32_t i = 0; i < plan_.locks.size(); ++i) add_resource();
  for (const ActorId id : ids_of(plan_.actors)) {
    if (plan_.actors[id].lock.valid()) use(locks + plan_.actors[id].lock.value, id, Phase::kLaunch);
  }
  use_streams_of_several();
  use_launch_queues_of_several();
  use_lines_of_several();
  use_signals_of_several();
  use_devices();
  use_inits();
  use_meetings();
}

// Adds a resource per stream on which several threads launch or wait.
void StubbornSets::use_streams_of_several() {
  IdVector<StreamId, std::vector<ActorId>> users(plan_.streams.size());
  for (const ActorId id : ids_of(plan_.actors)) {
    const Actor& actor = plan_.actors[id];
    if (actor.stream.valid()) users[actor.stream].push_back(id);
    if (actor.behind.valid()) users[actor.behind].push_back(id);
    for (std::uint32_t i = actor.streams; i < actor.streams_end; ++i) {
      users[plan_.synchronized[i]].push_back(id);
    }
  }
  for (const std::vector<ActorId>& of_stream : users) use_if_of_several(of_stream);
}

// Adds a resource per device launch queue that several threads use.
void StubbornSets::use_launch_queues_of_several() {
  IdVector<DeviceId, std::vector<ActorId>> users(plan_.devices.size());
  for (const ActorId id : ids_of(plan_.actors)) {
    const StreamId stream = plan_.actors[id].stream;
    if (!stream.valid() || !plan_.streams[stream].shares_queue) continue;
    users[plan_.streams[stream].device].push_back(id);
  }
  for (const std::vector<ActorId>& of_device : users) use_if_of_several(of_device);
}

// Adds a resource for the launches of these actors, if they belong to several threads.
void StubbornSets::use_if_of_several(const std::vector<ActorId>& users) {
  const bool several = std::any_of(users.begin(), users.end(), [&](ActorId id) {
    return plan_.actors[id].thread != plan_.actors[users.front()].thread;
  });
  if (!several) return;
  const Resource resource = add_resource();
  for (const ActorId id : users) use(resource, id, Phase::kLaunch);
}

// Adds a resource per line that several threads use.
void StubbornSets::use_lines_of_several() {
  IdVector<LineId, std::vector<ActorId>> users(plan_.lines.size());
  for (const ActorId id : ids_of(plan_.actors)) {
    const Actor& actor = plan_.actors[id];
    for (std::uint32_t i = actor.lines; i < actor.lines_end; ++i) {
      users[plan_.actor_lines[i]].push_back(id);
    }
  }
  for (const std::vector<ActorId>& of_line : users) use_if_of_several(of_line);
}

void StubbornSets::use_signals_of_several() {
  IdVector<SignalId, std::vector<ActorId>> users(plan_.signals.size());
  for (const ActorId id : ids_of(plan_.actors)) {
    const SignalId signal = plan_.actors[id].signal;
    if (signal.valid() && plan_.signals[signal].recorded()) users[signal].push_back(id);
  }
  for (const std::vector<ActorId>& of_signal : users) use_if_of_several(of_signal);
}

void StubbornSets::use_devices() {
  device_resources_ = IdVector<DeviceId, Resource>(plan_.devices.size(), 0);
  IdVector<DeviceId, ThreadId> threads(plan_.devices.size());
  IdVector<DeviceId, std::uint8_t> matters(plan_.devices.size(), 0);
  const auto device_of = [&](const Actor& actor) {
    return actor.stream.valid() ? plan_.streams[actor.stream].device : DeviceId();
  };
  for (const Actor& actor : plan_.actors) {
    const DeviceId id = device_of(actor);
    if (!id.valid() || !plan_.devices[id].limited()) continue;
    if (!threads[id].valid()) threads[id] = actor.thread;
    if (threads[id] != actor.thread || plan_.devices[id].may_lack_slots()) matters[id] = 1;
  }
  for (const DeviceId id : ids_of(plan_.devices)) {
    if (matters[id] != 0) device_resources_[id] = add_resource();
  }
  for (const ActorId id : ids_of(plan_.actors)) {
    const DeviceId device = device_of(plan_.actors[id]);
    if (!device.valid() || matters[device] == 0) continue;
    use(device_resources_[device], id, Phase::kLaunch);
    use(device_resources_[device], id, Phase::kEnd);
  }
}

// Adds a resource per communicator whose init waits for devices: the init looks at the members'
// streams when the last rank arrives.
void StubbornSets::use_inits() {
  for (const CommunicatorId id : ids_of(plan_.communicators)) {
    const Communicator& communicator = plan_.communicators[id];
    if (!communicator.at_first_use || !communicator.waits_for_device) continue;
    const Resource resource = add_resource();
    const auto ranks = plan_.communicator_ranks.begin();
    for (const ActorId actor : ids_of(plan_.actors)) {
      const bool is_member = std::binary_search(
          ranks + communicator.ranks, ranks + communicator.ranks_end, plan_.actors[actor].rank);
      if (is_member) use(resource, actor, Phase::kLaunch);
    }
  }
}

// Adds a resource per meeting that several threads of one rank join. The order of the threads
// determines the number of each arrival, and which op is the first with a common `join`.
void StubbornSets::use_meetings() {
  for (const Meeting& meeting : plan_.meetings) {
    const auto users = plan_.meeting_users.begin();
    const bool several =
        std::adjacent_find(users + meeting.users, users + meeting.users_end,
                           [&](const MeetingUser& a, const MeetingUser& b) {
                             return plan_.actors[a.actor].rank == plan_.actors[b.actor].rank &&
                                    plan_.actors[a.actor].thread != plan_.actors[b.actor].thread;
                           }) != users + meeting.users_end;
    if (!several) continue;
    const Resource resource = add_resource();
    for (std::uint32_t u = meeting.users; u < meeting.users_end; ++u) {
      use(resource, plan_.meeting_users[u].actor, Phase::kLaunch);
    }
  }
}

// ---------------------------------------------------------------------------------------------
// Effects of the pending events

void StubbornSets::add_push(ActorId actor, std::uint64_t k, Effects& effects) const {
  if (takers_[plan_.actors[actor].thread].empty()) return;
  if (k >= plan_.actors[actor].wanted) return;
  effects.pushes.push_back({actor, static_cast<std::uint32_t>(k)});
}

void StubbornSets::add_op(ActorId id, std::uint32_t k, Phase phase, Effects& effects) const {
  const Actor& actor = plan_.actors[id];
  const bool at_launch = phase == Phase::kLaunch;
  // The ends of a collective share a node.
  const Node node = happens_before_.node(id, k, phase);
  if (effects.nodes.empty() || effects.nodes.back() != node) effects.nodes.push_back(node);
  if (k >= actor.ops) return;  // the outside input never arrives
  const std::vector<Resource>& used = at_launch ? used_at_launch_[id] : used_at_end_[id];
  effects.touches.insert(effects.touches.end(), used.begin(), used.end());
  for (const RegisterId reg_id : plan_.registers_of(id)) {
    const Register& reg = plan_.registers[reg_id];
    if ((k + 1) % reg.ops_per_slot != 0) continue;
    const std::uint64_t slot = k / reg.ops_per_slot;
    for (const EdgeId edge : plan_.edges_of(reg_id)) {
      if (plan_.edges[edge].data_at_launch != at_launch) continue;
      add_push(plan_.edges[edge].consumer, slot * plan_.edges[edge].ops_per_slot, effects);
    }
  }
  for (std::uint32_t i = actor.inputs; i < actor.inputs_end; ++i) {
    const Edge& edge = plan_.edges[plan_.inputs[i]];
    if (edge.ack_at_launch != at_launch || (k + 1) % edge.ops_per_slot != 0) continue;
    const Register& reg = plan_.registers[edge.source];
    const std::uint64_t slot = k / edge.ops_per_slot;
    add_push(reg.producer, (slot + reg.slots) * reg.ops_per_slot, effects);
    if (reg.drain_every == 0) continue;
    const std::uint64_t next = (slot + 1) * reg.ops_per_slot;
    const std::uint64_t rest = next % reg.drain_every;
    add_push(reg.producer, rest == 0 ? next : next + reg.drain_every - rest, effects);
  }
}

void StubbornSets::add_call_end(CallId call, Effects& effects) const {
  const ActorId actor = plan_.calls[call].actor;
  add_op(actor, state_->actors[actor].done, Phase::kEnd, effects);
}

void StubbornSets::find_effects(const Event& event, Effects& effects) const {
  effects.nodes.clear();
  effects.pushes.clear();
  effects.touches.clear();
  effects.thread = ThreadId();
  effects.any = ChannelId();
  effects.held = LockId();
  switch (event.kind) {
    case EventKind::kOpEnds: {
      const ActorId actor = state_->streams[StreamId{event.target}].items.front().actor();
      return add_op(actor, state_->actors[actor].done, Phase::kEnd, effects);
    }
    case EventKind::kCollectiveEnds: {
      const Collective& collective = plan_.collectives[CollectiveId{event.target}];
      for (std::uint32_t i = collective.members; i < collective.members_end; ++i) {
        const ActorId actor = plan_.members[i].actor;
        add_op(actor, state_->actors[actor].done, Phase::kEnd, effects);
      }
      return;
    }
    case EventKind::kRoundEnds: {
      const Communicator& communicator = plan_.communicators[CommunicatorId{event.target}];
      for (std::uint32_t i = communicator.ranks; i < communicator.ranks_end; ++i) {
        add_call_end(state_->in_round[i], effects);
      }
      return;
    }
    case EventKind::kPairEnds:
      add_call_end(state_->channels[ChannelId{event.target}].sender, effects);
      return add_call_end(state_->channels[ChannelId{event.target}].receiver, effects);
    case EventKind::kCallEnds:
      return add_call_end(CallId{event.target}, effects);
    case EventKind::kSourceTaken:
      effects.any = plan_.channels[ChannelId{event.target}].any;
      return;
    case EventKind::kOpStarts:
      effects.touches.push_back(device_resources_[plan_.streams[StreamId{event.target}].device]);
      return;
    case EventKind::kThreadWakes:
      break;
  }
  const ThreadId id{event.target};
  const ThreadState& state = state_->threads[id];
  effects.thread = id;
  if (state.mode == ThreadMode::kBlocked) {
    if (state.step == Step::kCompletion) return;
    return add_op(state.at, state_->actors[state.at].launched, Phase::kLaunch, effects);
  }
  const ActorId next = next_launch(id);
  if (!next.valid()) return;
  add_op(next, state_->actors[next].launched, Phase::kLaunch, effects);
  const Actor& actor = plan_.actors[next];
  if (actor.role == Role::kLock && state_->locks[actor.lock].holder.valid()) {
    effects.held = actor.lock;
  }
}

// Returns the actor whose op an unblocked thread launches when it wakes; not valid: none.
ActorId StubbornSets::next_launch(ThreadId id) const {
  const Thread& thread = plan_.threads[id];
  const ThreadState& state = state_->threads[id];
  ActorId next = state.at;
  if (thread.order == ThreadOrder::kProgram) {
    const std::uint32_t at = thread.program + state.next_op;
    next = at < thread.program_end ? plan_.op(thread, at) : ActorId();
  }
  if (!next.valid() || state_->actors[next].missing > 0) return ActorId();
  // A source that has done all its work has no missing conditions, but no further op either.
  return state_->actors[next].launched < plan_.actors[next].wanted ? next : ActorId();
}

// ---------------------------------------------------------------------------------------------
// Stubborn sets

void StubbornSets::choose(const State& state, const std::vector<Event>& pending,
                          std::vector<std::uint32_t>& chosen) {
  state_ = &state;
  pending_ = &pending;
  const std::uint32_t count = static_cast<std::uint32_t>(pending.size());
  if (effects_.size() < count) effects_.resize(count);
  chosen.clear();
  for (std::uint32_t i = 0; i < count; ++i) {
    find_effects(pending[i], effects_[i]);
    if (all_disturb_ || !disturbs_nothing(effects_[i])) continue;
    chosen.push_back(i);
    return;
  }
  // In a plan too large for happens-before, all ops of a thread might disturb each other. Examining
  // them at each step would cost more than it saves.
  if (happens_before_.known() && !all_disturb_) {
    find_places(count);
    choose_closed(chosen);
    forget_places();
  }
  if (!chosen.empty()) return;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!effects_[i].held.valid()) chosen.push_back(i);
  }
  if (chosen.empty()) chosen.push_back(0);  // all events wait for locks that are never released
}

bool StubbornSets::disturbs_nothing(const Effects& effects) {
  return effects.pushes.empty() && effects.touches.empty() && !effects.any.valid();
}

// Chooses a stubborn set, or leaves `chosen` empty if only the set of all events would do. A set of
// one event needs no branch point and is preferred. Otherwise takes the smallest set of the first
// rank that has one. Then the search follows independent work rank by rank, and the numbers of
// states add up. With the globally smallest set, the search would alternate between ranks, and the
// numbers of states would multiply.
void StubbornSets::choose_closed(std::vector<std::uint32_t>& chosen) {
  const std::uint32_t count = static_cast<std::uint32_t>(pending_->size());
  outgrown_.assign(count, 0);
  seeds_.clear();
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!effects_[i].held.valid()) seeds_.push_back({rank_of((*pending_)[i]), i});
  }
  std::stable_sort(seeds_.begin(), seeds_.end(),
                   [](const Seed& a, const Seed& b) { return a.rank < b.rank; });
  RankId rank;
  for (const Seed& seed : seeds_) {
    const std::size_t less_than = chosen.empty() ? count : seed.rank == rank ? chosen.size() : 2;
    if (!close(seed.pending, less_than)) {
      outgrown_[seed.pending] = 1;
      continue;
    }
    chosen = members_;
    rank = seed.rank;
    if (chosen.size() == 1) return;
  }
}

// Returns the rank of an event; the lowest rank if several take part.
RankId StubbornSets::rank_of(const Event& event) const {
  switch (event.kind) {
    case EventKind::kOpEnds:
    case EventKind::kOpStarts:
      return plan_.streams[StreamId{event.target}].rank;
    case EventKind::kCollectiveEnds:
      return plan_.members[plan_.collectives[CollectiveId{event.target}].members].rank;
    case EventKind::kRoundEnds:
      return plan_.communicator_ranks[plan_.communicators[CommunicatorId{event.target}].ranks];
    case EventKind::kPairEnds:
    case EventKind::kSourceTaken: {
      const Channel& channel = plan_.channels[ChannelId{event.target}];
      return plan_.communicator_ranks[std::min(channel.from, channel.to)];
    }
    case EventKind::kCallEnds:
      return plan_.actors[plan_.calls[CallId{event.target}].actor].rank;
    case EventKind::kThreadWakes:
      break;
  }
  return plan_.threads[ThreadId{event.target}].rank;
}

void StubbornSets::find_places(std::uint32_t count) {
  if (pending_at_.empty()) pending_at_.resize(happens_before_.nodes(), kNotPending);
  for (std::uint32_t i = 0; i < count; ++i) {
    for (const Node node : effects_[i].nodes) {
      places_.push_back({node, i});
      pending_at_[node] = std::min(pending_at_[node], i);
    }
  }
}

void StubbornSets::forget_places() {
  for (const Place& place : places_) pending_at_[place.node] = kNotPending;
  places_.clear();
}

// Sets `members_` to the smallest stubborn set with event `seed` that this search finds. Returns
// false if the set has at least `less_than` members, or contains an event whose own set was too
// large.
bool StubbornSets::close(std::uint32_t seed, std::size_t less_than) {
  is_member_.assign(pending_->size(), 0);
  members_.clear();
  add(seed);
  std::size_t next = 0;
  while (next < members_.size()) {
    if (members_.size() >= less_than || outgrown_[members_[next]] != 0) return false;
    if (!add_disturbers(members_[next++])) return false;
  }
  return members_.size() < less_than;
}

// Adds an event to the set. An event that would wait for a lock cannot happen before the release of
// the lock, so the needs of the release are added instead.
bool StubbornSets::add(std::uint32_t member) {
  if (is_member_[member] != 0) return true;
  is_member_[member] = 1;
  const LockId held = effects_[member].held;
  if (held.valid()) return add_need_of_lock(held, 0);
  members_.push_back(member);
  return true;
}

// Adds the events that can disturb `member`. This and the following functions return false if only
// the set of all events would do.
bool StubbornSets::add_disturbers(std::uint32_t member) {
  const Effects& effects = effects_[member];
  for (const Push& push : effects.pushes) {
    if (!add_disturbers(effects, push)) return false;
  }
  for (const Resource resource : effects.touches) {
    if (!add_users(effects, resource)) return false;
  }
  return !effects.any.valid() || add_sources(effects.any);
}

// Adds all sends that a recv from any rank could take: the sends that have arrived, and the events
// that precede sends that could still arrive first.
bool StubbornSets::add_sources(ChannelId any) {
  for (std::uint32_t i = 0; i < pending_->size(); ++i) {
    const Event& event = (*pending_)[i];
    if (event.kind != EventKind::kSourceTaken) continue;
    if (plan_.channels[ChannelId{event.target}].any == any) add(i);
  }
  for (const ActorId sender : senders_[any]) {
    if (!add_sends(sender, any)) return false;
  }
  return true;
}

// Adds the events that must precede those sends of the actor that have not arrived.
bool StubbornSets::add_sends(ActorId id, ChannelId any) {
  const ActorState& state = state_->actors[id];
  const Actor& actor = plan_.actors[id];
  for (const CallId call : plan_.calls_of(id)) {
    const ChannelId channel = plan_.calls[call].channel;
    if (plan_.calls[call].kind != CallKind::kSend || plan_.channels[channel].any != any) continue;
    // A send has arrived already, and later sends queue behind it.
    if (!state_->channels[channel].came.empty()) continue;
    if (state.launched == state.done) {
      if (state.launched == actor.ops) continue;
      const Node node = happens_before_.node(id, state.launched, Phase::kLaunch);
      if (happens_before_.never(node)) continue;
      if (!add(id, state.launched, Phase::kLaunch)) return false;
      continue;
    }
    // A lone send ends without further needs once it has started.
    if (plan_.calls_of(id).size() > 1 || !add_need(id, state.done, Phase::kEnd, 0)) return false;
  }
  return true;
}

// Adds the messages to other actors of the thread, if the order of reading can matter, that is, if
// either op can become ready first.
bool StubbornSets::add_disturbers(const Effects& effects, const Push& push) {
  for (const Rival& rival : rivals_of(push)) {
    const std::uint32_t begin = std::max(state_->actors[rival.actor].launched, rival.begin);
    std::uint32_t end = rival.end;
    for (std::size_t i = 0; i < effects.nodes.size() && begin < end; ++i) {
      end = std::min(end, first_lacking(rival.actor, effects.nodes[i]));
    }
    for (std::uint32_t k = begin; k < end; ++k) {
      if (!add_senders(effects, push, rival.actor, k)) return false;
    }
  }
  return true;
}

// Adds the senders of the messages that op k of `other` needs.
bool StubbornSets::add_senders(const Effects& effects, const Push& push, ActorId other,
                               std::uint32_t k) {
  const auto add_sender = [&](ActorId sender, std::uint64_t op, Phase phase) {
    if (op >= plan_.actors[sender].ops) return true;
    const std::uint32_t sender_k = static_cast<std::uint32_t>(op);
    if (has_happened(sender, sender_k, phase)) return true;
    const Node node = happens_before_.node(sender, sender_k, phase);
    if (happens_before_.never(node)) return true;
    if (first_lacking(push.actor, node) <= push.k) return true;
    if (std::find(effects.nodes.begin(), effects.nodes.end(), node) != effects.nodes.end()) {
      return true;
    }
    return add(sender, sender_k, phase);
  };
  bool all = true;
  for_each_sender(plan_, other, k, [&](ActorId sender, std::uint64_t op, Phase phase) {
    all = all && add_sender(sender, op, phase);
  });
  return all;
}

// Adds the next use of the resource by every other actor.
bool StubbornSets::add_users(const Effects& effects, Resource resource) {
  for (const Use& user : users_[resource]) {
    const ActorState& actor = state_->actors[user.actor];
    const std::uint32_t k = user.phase == Phase::kLaunch ? actor.launched : actor.done;
    if (k >= plan_.actors[user.actor].ops) continue;
    // A thread launches one op at a time.
    if (user.phase == Phase::kLaunch && plan_.actors[user.actor].thread == effects.thread) continue;
    const Node node = happens_before_.node(user.actor, k, user.phase);
    if (comes_after(effects, node) || happens_before_.never(node)) continue;
    if (std::find(effects.nodes.begin(), effects.nodes.end(), node) != effects.nodes.end()) {
      continue;
    }
    if (!add(user.actor, k, user.phase)) return false;
  }
  return true;
}

// Adds the given launch or end if it is pending, otherwise an event that must precede it.
bool StubbornSets::add(ActorId actor, std::uint32_t k, Phase phase) {
  const std::uint32_t pending = pending_at_[happens_before_.node(actor, k, phase)];
  return pending != kNotPending ? add(pending) : add_need(actor, k, phase, 0);
}

// Adds an event that must precede the given launch or end. `depth` is the number of ops in the
// chain of needs so far; at kMaxDepth the search gives up, because ops that wait for each other in
// a cycle would make the chain endless.
bool StubbornSets::add_need(ActorId actor, std::uint32_t k, Phase phase, std::uint32_t depth) {
  const Node node = happens_before_.node(actor, k, phase);
  std::uint32_t found = kNotPending;
  for (const Place& place : places_) {
    if (place.node != node && !happens_before_.before(place.node, node)) continue;
    if (is_member_[place.pending] != 0) return true;
    if (found == kNotPending) found = place.pending;
  }
  if (found != kNotPending) return add(found);
  if (depth == kMaxDepth) return false;
  const ActorState& state = state_->actors[actor];
  if (phase == Phase::kEnd && state.done < state.launched) return add_need_of_end(actor, depth);
  return add_need_of_launch(actor, depth);
}

// Adds an event that must precede the end of the actor's first launched op that is not done.
bool StubbornSets::add_need_of_end(ActorId id, std::uint32_t depth) {
  const Actor& actor = plan_.actors[id];
  const StreamState& stream = state_->streams[actor.stream];
  const StreamItem head = stream.items.front();
  if (head.kind() != StreamItem::Kind::kOp) return false;
  if (stream.head_start == kNever) return add_start(actor.stream);
  const std::uint32_t k = state_->actors[head.actor()].done;
  if (head.actor() != id) return add_need(head.actor(), k, Phase::kEnd, depth + 1);
  if (!actor.collective.valid()) return false;
  const Collective& collective = plan_.collectives[actor.collective];
  for (std::uint32_t i = collective.members; i < collective.members_end; ++i) {
    const ActorId member = plan_.members[i].actor;
    if (!member.valid()) return true;  // the op never ends
    if (state_->started(plan_, member) > k) continue;
    const Phase phase = state_->actors[member].launched > k ? Phase::kEnd : Phase::kLaunch;
    return add_need(member, k, phase, depth + 1);
  }
  return false;
}

// Adds the start of the stream's head, if it is pending.
bool StubbornSets::add_start(StreamId stream) {
  const Event start{EventKind::kOpStarts, stream.value};
  const auto found = std::find(pending_->begin(), pending_->end(), start);
  return found != pending_->end() && add(static_cast<std::uint32_t>(found - pending_->begin()));
}

// Adds an event that must precede the launch of the actor's next op.
bool StubbornSets::add_need_of_launch(ActorId id, std::uint32_t depth) {
  const Actor& actor = plan_.actors[id];
  const Thread& of = plan_.threads[actor.thread];
  const ThreadState& thread = state_->threads[actor.thread];
  for (std::uint32_t i = 0; i < pending_->size(); ++i) {
    if (effects_[i].thread == actor.thread) return add(i);
  }
  if (thread.mode == ThreadMode::kBlocked) return add_need_of_blocked(thread, depth);
  ActorId next = id;
  if (of.order == ThreadOrder::kProgram) {
    if (of.program + thread.next_op == of.program_end) return true;  // the launch never happens
    next = plan_.op(of, of.program + thread.next_op);
  }
  const std::uint32_t k = state_->actors[next].launched;
  if (k >= plan_.actors[next].wanted) return true;
  bool found = false;
  bool any = true;
  for_each_sender(plan_, next, k, [&](ActorId sender, std::uint64_t op, Phase phase) {
    if (found) return;
    if (op >= plan_.actors[sender].ops) {
      found = true;  // the message never arrives
    } else if (!has_happened(sender, static_cast<std::uint32_t>(op), phase)) {
      found = true;
      any = add_need(sender, static_cast<std::uint32_t>(op), phase, depth + 1);
    }
  });
  return found && any;
}

// Adds the events that can free a place in a device's launch queue: every running op of the device
// can free a place.
bool StubbornSets::add_need_of_slots(DeviceId id, std::uint32_t depth) {
  const Device& device = plan_.devices[id];
  // Places reserved for threads that have not launched yet.
  std::uint32_t kept = state_->devices[id].unfinished;
  for (std::uint32_t i = device.streams; i < device.streams_end; ++i) {
    const StreamState& stream = state_->streams[plan_.device_streams[i]];
    kept -= stream.launched - stream.done;
    if (stream.launched == stream.done) continue;
    const ActorId head = stream.items.front().actor();
    if (!add_need(head, state_->actors[head].done, Phase::kEnd, depth + 1)) return false;
  }
  return kept == 0;
}

bool StubbornSets::add_need_of_blocked(const ThreadState& thread, std::uint32_t depth) {
  const Actor& actor = plan_.actors[thread.at];
  if (thread.step == Step::kOutsideInput) return true;  // the input never arrives
  if (thread.step == Step::kCompletion) {
    return add_need(thread.at, state_->actors[thread.at].done, Phase::kEnd, depth + 1);
  }
  if (thread.step == Step::kLaunchQueue && plan_.streams[actor.stream].shares_queue) {
    return add_need_of_slots(plan_.streams[actor.stream].device, depth);
  }
  if (thread.step == Step::kLaunchQueue) {
    const StreamQueue& items = state_->streams[actor.stream].items;
    if (items.empty()) return false;  // the place is reserved for another thread
    const ActorId head = items.front().actor();
    return add_need(head, state_->actors[head].done, Phase::kEnd, depth + 1);
  }
  if (thread.step != Step::kHostStep || actor.role != Role::kLock) return false;
  return add_need_of_lock(actor.lock, depth);
}

// Adds an event that must precede the release of a lock. Only the holder releases the lock, so adds
// the holder's next op.
bool StubbornSets::add_need_of_lock(LockId lock, std::uint32_t depth) {
  const ThreadId holder = state_->locks[lock].holder;
  if (!holder.valid() || !paired_[lock]) return false;
  const std::uint32_t next = plan_.threads[holder].program + state_->threads[holder].next_op;
  if (next == plan_.threads[holder].program_end) return true;  // the holder never releases the lock
  const ActorId needed = plan_.op(plan_.threads[holder], next);
  return add_need(needed, state_->actors[needed].launched, Phase::kLaunch, depth + 1);
}

// Whether op k of an actor needs a message that is sent after `node`. A message sent by `node`
// itself does not count, because it can be the last message that the op lacks.
bool StubbornSets::lacks(ActorId actor, std::uint32_t k, Node node) const {
  const auto [first, end] = sent_by_[happens_before_.node(actor, k, Phase::kLaunch)];
  for (std::uint32_t i = first; i < end; ++i) {
    if (happens_before_.before(node, sender_nodes_[i])) return true;
  }
  return false;
}

// Returns the first op of the actor that lacks a message while `node` has not happened, or the
// number of its ops. The answer is the same in all states, since no op before the actor's next one
// can need a message that is still to be sent.
std::uint32_t StubbornSets::first_lacking(ActorId id, Node node) {
  const Actor& actor = plan_.actors[id];
  if (lacking_.empty()) lacking_.resize(happens_before_.nodes());
  std::vector<Lacking>& rows = lacking_[node];
  auto row = std::find_if(rows.begin(), rows.end(),
                          [&](const Lacking& other) { return other.thread == actor.thread; });
  if (row == rows.end()) {
    rows.push_back({actor.thread, {}});
    row = std::prev(rows.end());
    row->first.resize(takers_[actor.thread].size(), kNotKnown);
  }
  std::uint16_t& first = row->first[place_of_taker_[id]];
  if (first == kNotKnown) {
    std::uint32_t k = state_->actors[id].launched;
    while (k < actor.wanted && !lacks(id, k, node)) ++k;
    first = static_cast<std::uint16_t>(k);
  }
  return first;
}

bool StubbornSets::has_happened(ActorId actor, std::uint32_t k, Phase phase) const {
  const ActorState& state = state_->actors[actor];
  return k < (phase == Phase::kLaunch ? state.launched : state.done);
}

bool StubbornSets::comes_after(const Effects& effects, Node node) const {
  return std::any_of(effects.nodes.begin(), effects.nodes.end(),
                     [&](Node own) { return happens_before_.before(own, node); });
}

// Returns the launches of other actors of the thread that can come before or after the launch of
// `push`, where the order can matter. They are the same in all states.
const std::vector<StubbornSets::Rival>& StubbornSets::rivals_of(const Push& push) {
  if (rivals_.empty()) rivals_.resize(happens_before_.nodes());
  const Node launch = happens_before_.node(push.actor, push.k, Phase::kLaunch);
  std::optional<std::vector<Rival>>& rivals = rivals_[launch];
  if (rivals) return *rivals;
  if (rivals_count_ > kMaxRivals) {
    rivals_.assign(rivals_.size(), std::nullopt);
    rivals_count_ = 0;
  }
  rivals.emplace();
  for (const ActorId other : takers_[plan_.actors[push.actor].thread]) {
    if (other == push.actor || commute(push.actor, other)) continue;
    const auto launch_of = [&](std::uint32_t k) {
      return happens_before_.node(other, k, Phase::kLaunch);
    };
    const std::uint32_t wanted = plan_.actors[other].wanted;
    const std::uint32_t begin = first_that(
        0, wanted, [&](std::uint32_t k) { return !happens_before_.before(launch_of(k), launch); });
    const std::uint32_t end = first_that(begin, wanted, [&](std::uint32_t k) {
      return happens_before_.before(launch, launch_of(k)) || happens_before_.never(launch_of(k));
    });
    if (begin < end) rivals->push_back({other, begin, end});
  }
  rivals_count_ += rivals->size();
  return *rivals;
}

// Whether a thread can launch ops of `a` and `b` in either order, because only their own streams
// see the launches. The order matters if a launch sends messages, because the inbox mixes them with
// messages from the end of the other op, or if other threads use the same resource.
bool StubbornSets::commute(ActorId a, ActorId b) const {
  const Actor& left = plan_.actors[a];
  const Actor& right = plan_.actors[b];
  if (left.stream == right.stream || share_device(left.stream, right.stream)) return false;
  if (left.behind == right.stream || right.behind == left.stream) return false;
  return !seen_at_launch(a) && !seen_at_launch(b);
}

bool StubbornSets::seen_at_launch(ActorId id) const {
  return may_block_[id] != 0 || sends_at_launch_[id] != 0 || !used_at_launch_[id].empty();
}

// Whether two streams belong to one device whose limits depend on launch order.
bool StubbornSets::share_device(StreamId a, StreamId b) const {
  if (!a.valid() || !b.valid()) return false;
  const DeviceId device = plan_.streams[a].device;
  return device.valid() && device == plan_.streams[b].device && plan_.devices[device].limited();
}

}  // namespace pipesim::sim
