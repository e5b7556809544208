// Lays out a plan: registers by producer, edges by register, inputs by consumer. All three are
// counting sorts that keep the order of the calls, in linear time.
#include "sim/plan.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "sim/assert.hpp"
#include "sim/meeting_layout.hpp"

namespace pipesim::sim {
namespace {

// The engine stores a kind in two bits of an id when it queues the id (sim/state.hpp).
constexpr std::uint32_t kMaxIds = 1u << 30;

/// Returns the positions of `count` items sorted by `group_of(i)`, keeping the order within a
/// group. Calls `set_range(group, begin, end)` for each group.
template <typename GroupOf, typename SetRange>
std::vector<std::uint32_t> grouped_positions(std::size_t count, std::uint32_t group_count,
                                             GroupOf group_of, SetRange set_range) {
  std::vector<std::uint32_t> next(group_count + 1, 0);
  for (std::size_t i = 0; i < count; ++i) ++next[group_of(i) + 1];
  for (std::uint32_t group = 0; group < group_count; ++group) {
    next[group + 1] += next[group];
    set_range(group, next[group], next[group + 1]);
  }
  std::vector<std::uint32_t> positions(count);
  for (std::size_t i = 0; i < count; ++i) positions[i] = next[group_of(i)]++;
  return positions;
}

// Returns the FNV-1a hash over pairs of words.
std::size_t hash_of(std::span<const std::uint32_t> words) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](std::uint64_t pair) { hash = (hash ^ pair) * 0x100000001b3; };
  for (std::size_t i = 1; i < words.size(); i += 2) {
    add(std::uint64_t{words[i - 1]} << 32 | words[i]);
  }
  if (words.size() % 2 != 0) add(words.back());
  return hash;
}

void note_when_it_sends(Actor& actor, bool at_launch) {
  if (at_launch) {
    actor.sends_at_launch = true;
  } else {
    actor.sends_at_end = true;
  }
}

}  // namespace

Plan::Plan() = default;
Plan::Plan(const Plan&) = default;
Plan::Plan(Plan&&) noexcept = default;
Plan& Plan::operator=(const Plan&) = default;
Plan& Plan::operator=(Plan&&) noexcept = default;
Plan::~Plan() = default;

PlanBuilder::PlanBuilder(std::uint32_t rank_count) { plan_.rank_count = rank_count; }

ThreadId PlanBuilder::add_thread(RankId rank, ThreadOrder order) {
  PIPESIM_CHECK(rank.value < plan_.rank_count, {"rank", rank.value});
  Thread thread;
  thread.rank = rank;
  thread.order = order;
  return plan_.threads.push_back(thread);
}

StreamId PlanBuilder::add_stream(RankId rank, std::uint32_t launch_queue) {
  PIPESIM_CHECK(rank.value < plan_.rank_count, {"rank", rank.value});
  PIPESIM_CHECK(launch_queue > 0);
  Stream stream;
  stream.rank = rank;
  stream.launch_queue = launch_queue;
  return plan_.streams.push_back(stream);
}

ActorId PlanBuilder::add_actor(const ActorSpec& spec) {
  PIPESIM_CHECK(spec.thread.value < plan_.threads.size(), {"thread", spec.thread.value});
  PIPESIM_CHECK(spec.stream.value < plan_.streams.size(), {"stream", spec.stream.value});
  PIPESIM_CHECK(plan_.threads[spec.thread].rank == plan_.streams[spec.stream].rank);
  PIPESIM_CHECK(spec.takes.ns >= 0 && spec.launch_overhead.ns >= 0);
  PIPESIM_CHECK(spec.input.first.ns >= 0 && spec.input.every.ns >= 0);
  PIPESIM_CHECK(!spec.input.waits || spec.input.items <= spec.ops);
  Actor actor;
  actor.rank = plan_.threads[spec.thread].rank;
  actor.thread = spec.thread;
  actor.stream = spec.stream;
  actor.takes = spec.takes;
  actor.launch_overhead = spec.launch_overhead;
  actor.ops = spec.ops;
  actor.immediate = spec.immediate;
  actor.blocking = spec.blocking;
  actor.input = spec.input;
  PIPESIM_CHECK(spec.gang > 0 && spec.kernel_slots % spec.gang == 0, {"gang", spec.gang});
  actor.kernel_slots = spec.kernel_slots;
  actor.gang = spec.gang;
  return plan_.actors.push_back(actor);
}

DeviceId PlanBuilder::add_device(RankId rank, const DeviceSpec& spec) {
  PIPESIM_CHECK(rank.value < plan_.rank_count, {"rank", rank.value});
  Device device;
  device.rank = rank;
  device.hardware_queues = spec.hardware_queues;
  device.resident = spec.resident;
  device.order = spec.order;
  device.holds_queues = spec.holds_queues;
  device.any_queue = spec.any_queue;
  device.launch_queue = spec.launch_queue;
  return plan_.devices.push_back(device);
}

void PlanBuilder::put_on_device(StreamId stream, DeviceId device) {
  PIPESIM_CHECK(plan_.streams[stream].rank == plan_.devices[device].rank);
  PIPESIM_CHECK(!plan_.streams[stream].device.valid(), {"stream", stream.value});
  Device& target = plan_.devices[device];
  plan_.streams[stream].device = device;
  plan_.streams[stream].shares_queue = target.launch_queue > 0;
  if (target.launch_queue > 0) plan_.streams[stream].launch_queue = target.launch_queue;
  const std::uint32_t index = target.streams_end++;  // number of streams until build()
  plan_.streams[stream].hardware_queue =
      target.hardware_queues == 0 ? 0 : index % target.hardware_queues;
}

SignalId PlanBuilder::add_signal() { return plan_.signals.push_back(Signal()); }

LockId PlanBuilder::add_lock(RankId rank) { return plan_.locks.push_back(rank); }

ActorId PlanBuilder::add_step(const StepSpec& spec) {
  PIPESIM_CHECK(spec.role != Role::kOp);
  PIPESIM_CHECK(spec.thread.value < plan_.threads.size(), {"thread", spec.thread.value});
  PIPESIM_CHECK(plan_.threads[spec.thread].order == ThreadOrder::kProgram);
  PIPESIM_CHECK(on_host(spec.role) != spec.stream.valid());
  PIPESIM_CHECK(!spec.input.waits || spec.input.items <= spec.ops);
  Actor actor;
  actor.role = spec.role;
  actor.rank = plan_.threads[spec.thread].rank;
  actor.thread = spec.thread;
  actor.stream = spec.stream;
  actor.launch_overhead = spec.launch_overhead;
  actor.ops = spec.ops;
  actor.immediate = true;
  actor.blocking = spec.blocking && spec.stream.valid();
  actor.input = spec.input;
  actor.signal = spec.signal;
  actor.lock = spec.lock;
  actor.communicator = spec.communicator;
  const bool ends_calls = spec.role == Role::kAbort || spec.role == Role::kDrain;
  PIPESIM_CHECK(!ends_calls || spec.communicator.valid());
  actor.drains = ends_calls || (spec.role == Role::kMeet && spec.drains);
  if (actor.drains && (spec.role != Role::kAbort || spec.drains)) {
    drains_.push_back(ActorId{plan_.actors.size()});
  }
  plan_.aborts = plan_.aborts || spec.role == Role::kAbort;
  actor.times = spec.times;
  actor.timeout = spec.timeout;
  PIPESIM_CHECK((spec.role == Role::kMeet) == spec.meeting.valid());
  if (spec.meeting.valid()) meets_.emplace_back(ActorId{plan_.actors.size()}, spec.meeting);
  actor.calls = actor.calls_end = plan_.calls.size();
  actor.streams = actor.streams_end = static_cast<std::uint32_t>(plan_.synchronized.size());
  if (spec.stream.valid()) PIPESIM_CHECK(plan_.streams[spec.stream].rank == actor.rank);
  PIPESIM_CHECK(spec.timeout.ns == 0 || (spec.timeout.ns > 0 && on_host(spec.role)));
  // Checks that the rank is a member.
  if (spec.communicator.valid()) member_of(spec.communicator, actor.rank);
  if (spec.role == Role::kRecord) {
    StreamId& recorded_on = plan_.signals[spec.signal].stream;
    PIPESIM_CHECK(!recorded_on.valid() || recorded_on == spec.stream);
    recorded_on = spec.stream;
  }
  if (needs_slot(spec.role)) {
    PIPESIM_CHECK(spec.gang > 0 && spec.kernel_slots % spec.gang == 0, {"gang", spec.gang});
    actor.kernel_slots = spec.kernel_slots;
    actor.gang = spec.gang;
    actor.unordered = spec.unordered;
  }
  return plan_.actors.push_back(actor);
}

void PlanBuilder::add_call(const CallSpec& spec) {
  const ActorId id{plan_.actors.size() - 1};
  Actor& actor = plan_.actors[id];
  PIPESIM_CHECK(actor.role == Role::kCalls, {"actor", id.value});
  Call call;
  call.actor = id;
  call.communicator = spec.communicator;
  call.kind = spec.kind;
  const bool takes_slots = actor.kernel_slots > 0 && spec.kind == CallKind::kCollective;
  actor.collects = actor.collects || takes_slots;
  call.buffered = spec.buffered && spec.kind == CallKind::kSend;
  call.member = member_of(spec.communicator, actor.rank);
  call.signature = spec.signature;
  if (spec.kind == CallKind::kCollective) call.flow = spec.flow;
  const bool flows = call.flow != Flow::kAll;
  if (is_ring(call.flow) || (spec.kind == CallKind::kSend && !spec.buffered)) {
    call.steps = spec.steps;
  }
  PIPESIM_CHECK(spec.steps <= kChannelSteps);
  call.connection = spec.connection;
  call.connects_pairs = spec.connects_pairs && spec.kind == CallKind::kCollective;
  call.tag = spec.tag;
  call.tag_step = spec.tag_step;
  call.takes = spec.takes;
  call.link = spec.link;
  call.fatal = spec.fatal;
  PIPESIM_CHECK(!spec.link.valid() || spec.kind != CallKind::kCollective);
  if (spec.kind == CallKind::kReceive && !spec.peer.valid()) {
    call.peer = kAnyPeer;
  } else if (flows || spec.kind != CallKind::kCollective) {
    call.peer = member_of(spec.communicator, spec.peer);
  }
  plan_.open = plan_.open || flows;
  if (flows) plan_.communicators[spec.communicator].open = true;
  PIPESIM_CHECK(spec.takes.ns >= 0);
  plan_.calls.push_back(call);
  actor.calls_end = plan_.calls.size();
}

std::uint32_t PlanBuilder::member_of(CommunicatorId id, RankId rank) const {
  const Communicator& communicator = plan_.communicators[id];
  const auto ranks = plan_.communicator_ranks.begin();
  const auto found =
      std::lower_bound(ranks + communicator.ranks, ranks + communicator.ranks_end, rank);
  PIPESIM_CHECK(found != ranks + communicator.ranks_end && *found == rank, {"rank", rank.value});
  return static_cast<std::uint32_t>(found - ranks);
}

void PlanBuilder::set_synchronized(std::vector<StreamId> streams) {
  Actor& actor = plan_.actors[ActorId{plan_.actors.size() - 1}];
  PIPESIM_CHECK(actor.role == Role::kSynchronize || actor.role == Role::kMeet);
  std::sort(streams.begin(), streams.end());
  PIPESIM_CHECK(std::adjacent_find(streams.begin(), streams.end()) == streams.end());
  for (const StreamId stream : streams) {
    PIPESIM_CHECK(plan_.streams[stream].rank == actor.rank, {"stream", stream.value});
  }
  plan_.synchronized.insert(plan_.synchronized.end(), streams.begin(), streams.end());
  actor.streams_end = static_cast<std::uint32_t>(plan_.synchronized.size());
}

void PlanBuilder::add_after(ActorId actor, ActorId other, std::uint32_t ahead) {
  const Actor& from = plan_.actors[actor];
  const Actor& to = plan_.actors[other];
  PIPESIM_CHECK(needs_slot(from.role) && to.stream.valid(), {"actor", actor.value});
  PIPESIM_CHECK(from.rank == to.rank && from.stream != to.stream, {"actor", actor.value});
  PIPESIM_CHECK(from.ops <= to.ops && ahead <= to.ops - from.ops, {"actor", actor.value});
  afters_.emplace_back(actor, After{other, ahead});
}

void PlanBuilder::set_behind(ActorId actor, StreamId stream) {
  Actor& from = plan_.actors[actor];
  PIPESIM_CHECK(needs_slot(from.role) && from.stream != stream, {"actor", actor.value});
  PIPESIM_CHECK(plan_.streams[stream].rank == from.rank, {"stream", stream.value});
  from.behind = stream;
}

PlanBuilder::Output PlanBuilder::add_register(ActorId producer, const RegisterSpec& spec) {
  PIPESIM_CHECK(producer.value < plan_.actors.size(), {"producer", producer.value});
  PIPESIM_CHECK(spec.slots > 0 && spec.ops_per_slot > 0);
  PIPESIM_CHECK(spec.drain_every % spec.ops_per_slot == 0, {"drain_every", spec.drain_every});
  registers_.push_back({producer, spec});
  return Output{static_cast<std::uint32_t>(registers_.size() - 1)};
}

void PlanBuilder::add_consumer(Output output, ActorId consumer, std::uint32_t ops_per_slot) {
  PIPESIM_CHECK(output.index < registers_.size(), {"output", output.index});
  PIPESIM_CHECK(consumer.value < plan_.actors.size(), {"consumer", consumer.value});
  PIPESIM_CHECK(ops_per_slot > 0);
  consumers_.push_back({output.index, consumer, ops_per_slot});
}

void PlanBuilder::set_in_place(Output output) {
  PendingRegister& reg = registers_[output.index];
  PIPESIM_CHECK(!consumers_.empty() && consumers_.back().consumer == reg.producer);
  PIPESIM_CHECK(consumers_.back().ops_per_slot == 1 && reg.spec.ops_per_slot == 1);
  reg.in_place = static_cast<std::uint32_t>(consumers_.size() - 1);
}

CommunicatorId PlanBuilder::add_communicator(std::vector<RankId> ranks, bool at_first_use,
                                             bool waits_for_device) {
  std::sort(ranks.begin(), ranks.end());
  PIPESIM_CHECK(std::adjacent_find(ranks.begin(), ranks.end()) == ranks.end());
  PIPESIM_CHECK(!ranks.empty() && ranks.back().value < plan_.rank_count);
  Communicator communicator;
  communicator.at_first_use = at_first_use;
  communicator.waits_for_device = waits_for_device;
  communicator.ranks = static_cast<std::uint32_t>(plan_.communicator_ranks.size());
  plan_.communicator_ranks.insert(plan_.communicator_ranks.end(), ranks.begin(), ranks.end());
  communicator.ranks_end = static_cast<std::uint32_t>(plan_.communicator_ranks.size());
  communicator.size = communicator.ranks_end - communicator.ranks;
  plan_.arrival_links.resize(plan_.communicator_ranks.size());
  return plan_.communicators.push_back(communicator);
}

void PlanBuilder::set_size(CommunicatorId id, std::uint32_t ranks) {
  Communicator& communicator = plan_.communicators[id];
  PIPESIM_CHECK(ranks >= communicator.ranks_end - communicator.ranks);
  communicator.size = ranks;
}

MeetingId PlanBuilder::add_meeting(CommunicatorId communicator, std::vector<RankId> ranks) {
  std::sort(ranks.begin(), ranks.end());
  PIPESIM_CHECK(!ranks.empty() && ranks.back().value < plan_.rank_count);
  return open_meeting(plan_, MeetingKind::kHosts, communicator, ranks);
}

LinkId PlanBuilder::add_link(const Link& link) {
  PIPESIM_CHECK(link.first.value < plan_.rank_count && link.second.value < plan_.rank_count);
  PIPESIM_CHECK(link.first != link.second && link.down.ns >= 0 && link.retry.ns >= 0);
  return plan_.links.push_back(link);
}

void PlanBuilder::set_communicator_faults(CommunicatorId id, const CommunicatorFaults& faults) {
  Communicator& communicator = plan_.communicators[id];
  PIPESIM_CHECK(faults.timeout.ns >= 0 && faults.init_timeout.ns >= 0);
  communicator.link = faults.link;
  communicator.timeout = faults.timeout;
  communicator.init_timeout = faults.init_timeout;
  if (faults.arrival_links.empty()) return;
  PIPESIM_CHECK(faults.arrival_links.size() == communicator.ranks_end - communicator.ranks);
  std::copy(faults.arrival_links.begin(), faults.arrival_links.end(),
            plan_.arrival_links.begin() + communicator.ranks);
}

void PlanBuilder::add_death(RankId rank, Time at) {
  PIPESIM_CHECK(rank.value < plan_.rank_count && at.ns >= 0, {"rank", rank.value});
  plan_.deaths.push_back({rank, at});
}

void PlanBuilder::set_dies_at(ActorId actor, std::uint32_t op) {
  PIPESIM_CHECK(op < plan_.actors[actor].ops, {"actor", actor.value}, {"act", op});
  plan_.actors[actor].dies_at = op;
}

void PlanBuilder::set_fails_at(ActorId actor, std::uint32_t op) {
  PIPESIM_CHECK(op < plan_.actors[actor].ops, {"actor", actor.value}, {"act", op});
  PIPESIM_CHECK(plan_.actors[actor].role == Role::kOp, {"actor", actor.value});
  plan_.actors[actor].fails_at = op;
}

void PlanBuilder::set_timeouts(Timeouts timeouts) {
  PIPESIM_CHECK(timeouts.poll.ns >= 0 && timeouts.launcher.ns >= 0);
  PIPESIM_CHECK(timeouts.launcher.ns == 0 || timeouts.host.size() == plan_.rank_count);
  plan_.timeouts = std::move(timeouts);
}

CollectiveId PlanBuilder::add_collective(CommunicatorId communicator, std::vector<Member> members) {
  const CollectiveId id{plan_.collectives.size()};
  Collective collective;
  collective.communicator = communicator;
  collective.members = static_cast<std::uint32_t>(plan_.members.size());
  const Communicator& owner = plan_.communicators[communicator];
  const auto ranks = plan_.communicator_ranks.begin();
  for (const Member& member : members) {
    PIPESIM_CHECK(std::binary_search(ranks + owner.ranks, ranks + owner.ranks_end, member.rank),
                  {"rank", member.rank.value});
    if (!member.actor.valid()) continue;
    Actor& actor = plan_.actors[member.actor];
    PIPESIM_CHECK(actor.rank == member.rank && !actor.collective.valid());
    actor.collective = id;
    collective.takes = std::max(collective.takes, actor.takes);
  }
  plan_.members.insert(plan_.members.end(), members.begin(), members.end());
  collective.members_end = static_cast<std::uint32_t>(plan_.members.size());
  return plan_.collectives.push_back(collective);
}

void PlanBuilder::set_program(ThreadId thread, const std::vector<ActorId>& ops) {
  Thread& target = plan_.threads[thread];
  PIPESIM_CHECK(target.order == ThreadOrder::kProgram);
  if (ops.empty()) return;
  target.first_actor = *std::min_element(ops.begin(), ops.end());
  const std::size_t program = plan_.program.size();
  plan_.program.resize(program + ops.size());
  std::transform(ops.begin(), ops.end(), plan_.program.data() + program,
                 [&](ActorId id) { return id.value - target.first_actor.value; });
  const auto added = std::span<const std::uint32_t>(plan_.program).subspan(program);

  const std::size_t hash = hash_of(added);
  const auto [first, last] = programs_.equal_range(hash);
  for (auto other = first; other != last; ++other) {
    const Thread& known = plan_.threads[other->second];
    const auto begin = plan_.program.begin() + known.program;
    const auto end = plan_.program.begin() + known.program_end;
    if (!std::equal(begin, end, added.begin(), added.end())) continue;
    target.program = known.program;
    target.program_end = known.program_end;
    plan_.program.resize(program);
    return;
  }
  target.program = static_cast<std::uint32_t>(program);
  target.program_end = static_cast<std::uint32_t>(plan_.program.size());
  programs_.emplace(hash, thread);
}

Plan PlanBuilder::build() {
  check_programs();
  const std::vector<RegisterId> register_ids = lay_out_registers();
  const std::vector<EdgeId> edge_ids = lay_out_edges(register_ids);
  lay_out_inputs(edge_ids);
  lay_out_users();
  lay_out_drained();
  lay_out_devices();
  lay_out_afters();
  lay_out_channels();
  lay_out_meetings(plan_, meets_);
  meets_.clear();
  chain_calls();
  lay_out_lines();
  set_watchdogs();
  if (plan_.in_calls) find_library_steps();
  sum_up_actors();
  PIPESIM_CHECK(plan_.actors.size() < kMaxIds && plan_.edges.size() < kMaxIds);
  PIPESIM_CHECK(plan_.communicators.size() < kMaxIds);
  registers_.clear();
  consumers_.clear();
  return std::exchange(plan_, Plan());
}

// Marks the steps in which a rank is inside its library: calls on communicators with `in_calls`,
// and host steps that wait for such calls only.
void PlanBuilder::find_library_steps() {
  IdVector<StreamId, std::uint8_t> of_library(plan_.streams.size(), 0);
  for (const Call& call : plan_.calls) {
    const Communicator& communicator = plan_.communicators[call.communicator];
    if (!communicator.in_calls) continue;
    PIPESIM_CHECK(!communicator.open, {"communicator", call.communicator.value});
    plan_.actors[call.actor].in_library = true;
    of_library[plan_.actors[call.actor].stream] = 1;
  }
  const auto waits_for_library = [&](const Actor& actor) {
    if (actor.role == Role::kAwait) {
      const StreamId stream = plan_.signals[actor.signal].stream;
      return stream.valid() && of_library[stream] != 0;
    }
    const auto begin = plan_.synchronized.begin();
    return actor.role == Role::kSynchronize && actor.streams != actor.streams_end &&
           std::all_of(begin + actor.streams, begin + actor.streams_end,
                       [&](StreamId stream) { return of_library[stream] != 0; });
  };
  for (Actor& actor : plan_.actors) {
    if (waits_for_library(actor)) actor.in_library = true;
  }
}

void PlanBuilder::sum_up_actors() {
  IdVector<RankId, ActorId> first_of_rank(plan_.rank_count);
  for (const ActorId id : ids_of(plan_.actors)) {
    Actor& actor = plan_.actors[id];
    if (!first_of_rank[actor.rank].valid()) first_of_rank[actor.rank] = id;
    actor.wanted = actor.input.waits ? actor.ops + 1 : actor.ops;
    actor.in_lines = actor.lines != actor.lines_end;
    actor.waits_for_streams =
        actor.afters != actor.afters_end || actor.behind.valid() || actor.in_lines;
    plan_.op_count += actor.ops;
  }
  for (Thread& thread : plan_.threads) thread.first_actor_of_rank = first_of_rank[thread.rank];
}

std::vector<RegisterId> PlanBuilder::lay_out_registers() {
  const std::vector<std::uint32_t> positions = grouped_positions(
      registers_.size(), plan_.actors.size(),
      [&](std::size_t i) { return registers_[i].producer.value; },
      [&](std::uint32_t actor, std::uint32_t begin, std::uint32_t end) {
        plan_.actors[ActorId{actor}].registers = begin;
        plan_.actors[ActorId{actor}].registers_end = end;
      });
  plan_.registers = IdVector<RegisterId, Register>(registers_.size());
  std::vector<RegisterId> ids(registers_.size());
  for (std::size_t i = 0; i < registers_.size(); ++i) {
    const PendingRegister& pending = registers_[i];
    ids[i] = RegisterId{positions[i]};
    Register& reg = plan_.registers[ids[i]];
    reg.producer = pending.producer;
    reg.slots = pending.spec.slots;
    reg.ops_per_slot = pending.spec.ops_per_slot;
    reg.drain_every = pending.spec.drain_every;
    reg.control = pending.spec.control;
  }
  return ids;
}

std::vector<EdgeId> PlanBuilder::lay_out_edges(const std::vector<RegisterId>& register_ids) {
  const std::vector<std::uint32_t> positions = grouped_positions(
      consumers_.size(), plan_.registers.size(),
      [&](std::size_t i) { return register_ids[consumers_[i].output].value; },
      [&](std::uint32_t reg, std::uint32_t begin, std::uint32_t end) {
        plan_.registers[RegisterId{reg}].edges = begin;
        plan_.registers[RegisterId{reg}].edges_end = end;
      });
  plan_.edges = IdVector<EdgeId, Edge>(consumers_.size());
  std::vector<EdgeId> ids(consumers_.size());
  for (std::size_t i = 0; i < consumers_.size(); ++i) {
    const PendingConsumer& pending = consumers_[i];
    ids[i] = EdgeId{positions[i]};
    Edge& edge = plan_.edges[ids[i]];
    edge.source = register_ids[pending.output];
    edge.producer = plan_.registers[edge.source].producer;
    edge.consumer = pending.consumer;
    edge.ops_per_slot = pending.ops_per_slot;
    Actor& producer = plan_.actors[edge.producer];
    Actor& consumer = plan_.actors[edge.consumer];
    edge.producer_thread = producer.thread;
    edge.consumer_thread = consumer.thread;
    const bool one_thread = producer.thread == consumer.thread;
    edge.data_at_launch = one_thread && producer.immediate;
    edge.ack_at_launch = one_thread && consumer.immediate;
    note_when_it_sends(producer, edge.data_at_launch);
    note_when_it_sends(consumer, edge.ack_at_launch);
  }
  // An output reuses memory only if its credits can return, so it needs consumers.
  for (std::size_t i = 0; i < registers_.size(); ++i) {
    Register& reg = plan_.registers[register_ids[i]];
    if (registers_[i].in_place == kNone || reg.edges == reg.edges_end) continue;
    reg.in_place = ids[registers_[i].in_place];
    PIPESIM_CHECK(!plan_.edges[reg.in_place].in_place.valid());
    plan_.edges[reg.in_place].in_place = register_ids[i];
  }
  return ids;
}

void PlanBuilder::lay_out_inputs(const std::vector<EdgeId>& edge_ids) {
  const std::vector<std::uint32_t> positions = grouped_positions(
      consumers_.size(), plan_.actors.size(),
      [&](std::size_t i) { return consumers_[i].consumer.value; },
      [&](std::uint32_t actor, std::uint32_t begin, std::uint32_t end) {
        plan_.actors[ActorId{actor}].inputs = begin;
        plan_.actors[ActorId{actor}].inputs_end = end;
      });
  plan_.inputs.resize(consumers_.size());
  for (std::size_t i = 0; i < consumers_.size(); ++i) plan_.inputs[positions[i]] = edge_ids[i];
}

void PlanBuilder::lay_out_users() {
  std::vector<std::pair<std::uint32_t, ActorId>> users;
  for (const ActorId id : ids_of(plan_.actors)) {
    const Actor& actor = plan_.actors[id];
    if (actor.collective.valid()) {
      users.emplace_back(plan_.collectives[actor.collective].communicator.value, id);
    }
    if (actor.communicator.valid() && !actor.drains) {
      users.emplace_back(actor.communicator.value, id);
    }
    const std::size_t first = users.size();
    for (const CallId call : plan_.calls_of(id)) {
      const std::pair<std::uint32_t, ActorId> user(plan_.calls[call].communicator.value, id);
      const auto begin = users.begin() + static_cast<std::ptrdiff_t>(first);
      if (std::find(begin, users.end(), user) == users.end()) users.push_back(user);
    }
  }
  std::stable_sort(users.begin(), users.end(), [&](const auto& a, const auto& b) {
    return plan_.actors[a.second].rank < plan_.actors[b.second].rank;
  });
  const std::vector<std::uint32_t> positions = grouped_positions(
      users.size(), plan_.communicators.size(), [&](std::size_t i) { return users[i].first; },
      [&](std::uint32_t communicator, std::uint32_t begin, std::uint32_t end) {
        plan_.communicators[CommunicatorId{communicator}].users = begin;
        plan_.communicators[CommunicatorId{communicator}].users_end = end;
      });
  plan_.communicator_users.resize(users.size());
  for (std::size_t i = 0; i < users.size(); ++i) {
    plan_.communicator_users[positions[i]] = users[i].second;
  }
}

// Sets the streams of steps that wait for the calls of a communicator: all streams on which the
// rank of the step has such calls.
void PlanBuilder::lay_out_drained() {
  for (const ActorId id : std::exchange(drains_, {})) {
    Actor& actor = plan_.actors[id];
    const Communicator& communicator = plan_.communicators[actor.communicator];
    std::vector<StreamId> streams;
    for (std::uint32_t u = communicator.users; u < communicator.users_end; ++u) {
      const Actor& user = plan_.actors[plan_.communicator_users[u]];
      if (user.rank == actor.rank && user.stream.valid()) streams.push_back(user.stream);
    }
    std::sort(streams.begin(), streams.end());
    streams.erase(std::unique(streams.begin(), streams.end()), streams.end());
    actor.streams = static_cast<std::uint32_t>(plan_.synchronized.size());
    plan_.synchronized.insert(plan_.synchronized.end(), streams.begin(), streams.end());
    actor.streams_end = static_cast<std::uint32_t>(plan_.synchronized.size());
  }
}

void PlanBuilder::lay_out_devices() {
  std::vector<StreamId> placed;
  for (const StreamId id : ids_of(plan_.streams)) {
    if (plan_.streams[id].device.valid()) placed.push_back(id);
  }
  const std::vector<std::uint32_t> positions = grouped_positions(
      placed.size(), plan_.devices.size(),
      [&](std::size_t i) { return plan_.streams[placed[i]].device.value; },
      [&](std::uint32_t device, std::uint32_t begin, std::uint32_t end) {
        plan_.devices[DeviceId{device}].streams = begin;
        plan_.devices[DeviceId{device}].streams_end = end;
      });
  plan_.device_streams.resize(placed.size());
  for (std::size_t i = 0; i < placed.size(); ++i) plan_.device_streams[positions[i]] = placed[i];
  IdVector<StreamId, std::uint32_t> most(plan_.streams.size(), 1);
  for (const Actor& actor : plan_.actors) {
    if (!actor.stream.valid() || !plan_.streams[actor.stream].device.valid()) continue;
    const Device& device = plan_.devices[plan_.streams[actor.stream].device];
    PIPESIM_CHECK(device.resident == 0 || actor.kernel_slots <= device.resident,
                  {"room", actor.kernel_slots});
    most[actor.stream] = std::max(most[actor.stream], actor.kernel_slots);
  }
  for (const StreamId id : placed) plan_.devices[plan_.streams[id].device].wanted += most[id];
}

void PlanBuilder::lay_out_afters() {
  using Pair = std::pair<StreamId, StreamId>;  // stream waited for, waiting stream
  std::vector<Pair> waits;
  const std::vector<std::uint32_t> positions = grouped_positions(
      afters_.size(), plan_.actors.size(), [&](std::size_t i) { return afters_[i].first.value; },
      [&](std::uint32_t actor, std::uint32_t begin, std::uint32_t end) {
        plan_.actors[ActorId{actor}].afters = begin;
        plan_.actors[ActorId{actor}].afters_end = end;
      });
  plan_.afters.resize(afters_.size());
  for (std::size_t i = 0; i < afters_.size(); ++i) {
    const auto& [actor, after] = afters_[i];
    plan_.afters[positions[i]] = after;
    waits.emplace_back(plan_.actors[after.actor].stream, plan_.actors[actor].stream);
  }
  for (const Actor& actor : plan_.actors) {
    if (actor.behind.valid()) waits.emplace_back(actor.behind, actor.stream);
  }
  std::sort(waits.begin(), waits.end());
  waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
  grouped_positions(
      waits.size(), plan_.streams.size(), [&](std::size_t i) { return waits[i].first.value; },
      [&](std::uint32_t stream, std::uint32_t begin, std::uint32_t end) {
        plan_.streams[StreamId{stream}].dependents = begin;
        plan_.streams[StreamId{stream}].dependents_end = end;
      });
  for (const auto& [stream, dependent] : waits) plan_.dependents.push_back(dependent);
  afters_.clear();
}

// Makes a channel for each (communicator, sender, receiver) in calls, in that order.
void PlanBuilder::lay_out_channels() {
  const auto ends_of = [](const Call& call) {
    return call.kind == CallKind::kSend ? std::pair(call.member, call.peer)
                                        : std::pair(call.peer, call.member);
  };
  using Ends = std::pair<std::uint32_t, std::uint32_t>;
  std::vector<Ends> known;
  for (const Call& call : plan_.calls) {
    if (call.kind != CallKind::kCollective) known.push_back(ends_of(call));
  }
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  plan_.channels = IdVector<ChannelId, Channel>(known.size());
  for (Call& call : plan_.calls) {
    if (call.kind == CallKind::kCollective) continue;
    const Ends ends = ends_of(call);
    const auto found = std::lower_bound(known.begin(), known.end(), ends);
    call.channel = ChannelId{static_cast<std::uint32_t>(found - known.begin())};
    Channel& channel = plan_.channels[call.channel];
    channel.communicator = call.communicator;
    channel.from = ends.first;
    channel.to = ends.second;
  }
  for (const ChannelId any : ids_of(plan_.channels)) {
    if (plan_.channels[any].from == kAnyPeer) lay_out_sources(any);
  }
}

// Finds the sources of a channel of recvs from any rank. A member index is unique to a
// communicator, so the receiver alone identifies the sources.
void PlanBuilder::lay_out_sources(ChannelId any) {
  Channel& of = plan_.channels[any];
  of.sources = static_cast<std::uint32_t>(plan_.sources.size());
  for (const ChannelId id : ids_of(plan_.channels)) {
    if (id == any || plan_.channels[id].to != of.to) continue;
    plan_.channels[id].any = any;
    plan_.sources.push_back(id);
  }
  of.sources_end = static_cast<std::uint32_t>(plan_.sources.size());
}

void PlanBuilder::chain_calls() {
  for (const ActorId actor : ids_of(plan_.actors)) {
    if (plan_.calls_of(actor).size() > 1) chain_calls_of(actor);
  }
}

// Sets the stages of an actor's calls per communicator. The collective calls come first, one per
// stage, then sends and recvs by epoch. The n-th send to (or recv from) a rank has epoch n.
void PlanBuilder::chain_calls_of(ActorId actor) {
  using Sort = std::tuple<CommunicatorId, CallKind, std::uint32_t>;
  std::map<CommunicatorId, std::uint32_t> collectives;
  for (const CallId id : plan_.calls_of(actor)) {
    const Call& call = plan_.calls[id];
    std::uint32_t& count = collectives[call.communicator];
    if (call.kind == CallKind::kCollective) ++count;
  }
  std::map<Sort, std::uint32_t> seen;
  std::map<CommunicatorId, std::uint32_t> last_stage;
  for (const CallId id : plan_.calls_of(actor)) {
    Call& call = plan_.calls[id];
    const bool collective = call.kind == CallKind::kCollective;
    call.stage = seen[Sort(call.communicator, call.kind, collective ? 0 : call.peer)]++;
    if (!collective) call.stage += collectives[call.communicator];
    std::uint32_t& last = last_stage[call.communicator];
    last = std::max(last, call.stage);
  }
  for (const auto& [communicator, last] : last_stage) {
    if (last == 0) continue;
    const ChainId chain{plan_.chains.size()};
    const auto first = static_cast<std::uint32_t>(plan_.chained.size());
    for (const CallId id : plan_.calls_of(actor)) {
      if (plan_.calls[id].communicator != communicator) continue;
      plan_.calls[id].chain = chain;
      plan_.chained.push_back(id);
    }
    std::sort(plan_.chained.begin() + first, plan_.chained.end(), [&](CallId a, CallId b) {
      return std::pair(plan_.calls[a].stage, a) < std::pair(plan_.calls[b].stage, b);
    });
    plan_.chains.push_back(Chain{first, static_cast<std::uint32_t>(plan_.chained.size())});
  }
}

// Makes a line for each rank and communicator with calls on several streams. An index in
// communicator_ranks identifies the pair.
void PlanBuilder::lay_out_lines() {
  std::vector<StreamId> streams(plan_.communicator_ranks.size());
  std::vector<std::uint8_t> several(streams.size(), 0);
  bool any = false;
  for (const Call& call : plan_.calls) {
    const StreamId stream = plan_.actors[call.actor].stream;
    StreamId& first = streams[call.member];
    if (!first.valid()) first = stream;
    if (first == stream) continue;
    several[call.member] = 1;
    any = true;
  }
  if (!any) return;
  std::vector<LineId> lines(streams.size());
  for (const Call& call : plan_.calls) {
    if (several[call.member] == 0 || lines[call.member].valid()) continue;
    const RankId rank = plan_.communicator_ranks[call.member];
    lines[call.member] = plan_.lines.push_back(Line{rank, call.communicator});
  }
  for (const ActorId id : ids_of(plan_.actors)) {
    Actor& actor = plan_.actors[id];
    actor.lines = actor.lines_end = static_cast<std::uint32_t>(plan_.actor_lines.size());
    for (const CallId call : plan_.calls_of(id)) {
      const LineId line = lines[plan_.calls[call].member];
      if (!line.valid() || plan_.is_in(id, line)) continue;
      plan_.actor_lines.push_back(line);
      actor.lines_end = static_cast<std::uint32_t>(plan_.actor_lines.size());
    }
  }
}

// Sets the watchdog timeouts of actors, and whether faults or timeouts (docs/reference/rules.md,
// 10) can occur.
void PlanBuilder::set_watchdogs() {
  const auto use = [&](Actor& actor, CommunicatorId id) {
    const Duration timeout = plan_.communicators[id].timeout;
    if (timeout.ns == 0) return;
    if (actor.watchdog.ns == 0 || timeout < actor.watchdog) actor.watchdog = timeout;
  };
  const auto is_fatal = [](const Call& call) { return call.fatal; };
  const auto can_time_out = [](const Communicator& communicator) {
    return communicator.timeout.ns > 0 || communicator.init_timeout.ns > 0;
  };
  plan_.faulty = !plan_.deaths.empty() || !plan_.links.empty() ||
                 std::any_of(plan_.calls.begin(), plan_.calls.end(), is_fatal) ||
                 std::any_of(plan_.communicators.begin(), plan_.communicators.end(), can_time_out);
  for (const ActorId id : ids_of(plan_.actors)) {
    Actor& actor = plan_.actors[id];
    if (actor.collective.valid()) use(actor, plan_.collectives[actor.collective].communicator);
    for (const CallId call : plan_.calls_of(id)) use(actor, plan_.calls[call].communicator);
    if (actor.dies_at != kNoOp || actor.fails_at != kNoOp || actor.timeout.ns > 0) {
      plan_.faulty = true;
    }
  }
}

void PlanBuilder::check_programs() const {
  std::vector<std::uint32_t> listed(plan_.actors.size(), 0);
  for (const ThreadId id : ids_of(plan_.threads)) {
    const Thread& thread = plan_.threads[id];
    for (std::uint32_t i = thread.program; i < thread.program_end; ++i) {
      const ActorId actor = plan_.op(thread, i);
      PIPESIM_CHECK(plan_.actors[actor].thread == id, {"thread", id.value});
      ++listed[actor.value];
    }
  }
  for (const ActorId id : ids_of(plan_.actors)) {
    const Actor& actor = plan_.actors[id];
    if (plan_.threads[actor.thread].order == ThreadOrder::kArrival) continue;
    PIPESIM_CHECK(listed[id.value] == actor.ops, {"actor", id.value}, {"acts", actor.ops});
  }
}

}  // namespace pipesim::sim
