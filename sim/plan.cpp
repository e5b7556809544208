// Laying out a plan: registers by producer, edges by register, inputs by consumer. All three are
// counting sorts that keep the order of the calls, in linear time.
#include "sim/plan.hpp"

#include <algorithm>
#include <utility>

#include "sim/check.hpp"

namespace pipesim::sim {
namespace {

// Ids are tagged with kinds in two bits where the engine queues them (sim/state.hpp).
constexpr std::uint32_t kMostIds = 1u << 30;

/// Positions of `count` things that are grouped by `group_of(i)`, groups in order, order kept
/// within a group. `begin(group)` and `end(group)` are filled with each group's range.
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

}  // namespace

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
  return plan_.streams.push_back(Stream{rank, launch_queue});
}

ActorId PlanBuilder::add_actor(const ActorSpec& spec) {
  PIPESIM_CHECK(spec.thread.value < plan_.threads.size(), {"thread", spec.thread.value});
  PIPESIM_CHECK(spec.stream.value < plan_.streams.size(), {"stream", spec.stream.value});
  PIPESIM_CHECK(plan_.threads[spec.thread].rank == plan_.streams[spec.stream].rank);
  PIPESIM_CHECK(spec.takes.ns >= 0 && spec.launch_overhead.ns >= 0);
  PIPESIM_CHECK(spec.input.first.ns >= 0 && spec.input.every.ns >= 0);
  PIPESIM_CHECK(!spec.input.waits || spec.input.items <= spec.acts);
  Actor actor;
  actor.rank = plan_.threads[spec.thread].rank;
  actor.thread = spec.thread;
  actor.stream = spec.stream;
  actor.takes = spec.takes;
  actor.launch_overhead = spec.launch_overhead;
  actor.acts = spec.acts;
  actor.immediate = spec.immediate;
  actor.blocking = spec.blocking;
  actor.input = spec.input;
  return plan_.actors.push_back(actor);
}

PlanBuilder::Output PlanBuilder::add_register(ActorId producer, const RegisterSpec& spec) {
  PIPESIM_CHECK(producer.value < plan_.actors.size(), {"producer", producer.value});
  PIPESIM_CHECK(spec.slots > 0 && spec.acts_per_slot > 0);
  PIPESIM_CHECK(spec.drain_every % spec.acts_per_slot == 0, {"drain_every", spec.drain_every});
  registers_.push_back({producer, spec});
  return Output{static_cast<std::uint32_t>(registers_.size() - 1)};
}

void PlanBuilder::add_consumer(Output output, ActorId consumer, std::uint32_t acts_per_slot) {
  PIPESIM_CHECK(output.index < registers_.size(), {"output", output.index});
  PIPESIM_CHECK(consumer.value < plan_.actors.size(), {"consumer", consumer.value});
  PIPESIM_CHECK(acts_per_slot > 0);
  consumers_.push_back({output.index, consumer, acts_per_slot});
}

void PlanBuilder::set_in_place(Output output) {
  PendingRegister& reg = registers_[output.index];
  PIPESIM_CHECK(!consumers_.empty() && consumers_.back().consumer == reg.producer);
  PIPESIM_CHECK(consumers_.back().acts_per_slot == 1 && reg.spec.acts_per_slot == 1);
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
  return plan_.communicators.push_back(communicator);
}

CollectiveId PlanBuilder::add_collective(CommunicatorId communicator, std::vector<Member> members) {
  const CollectiveId id{plan_.collectives.size()};
  Collective collective;
  collective.communicator = communicator;
  collective.members = static_cast<std::uint32_t>(plan_.members.size());
  const Communicator& owner = plan_.communicators[communicator];
  const auto ranks = plan_.communicator_ranks.begin();
  for (std::uint32_t i = 0; i < members.size(); ++i) {
    const Member& member = members[i];
    PIPESIM_CHECK(std::binary_search(ranks + owner.ranks, ranks + owner.ranks_end, member.rank),
                  {"rank", member.rank.value});
    if (!member.actor.valid()) continue;
    Actor& actor = plan_.actors[member.actor];
    PIPESIM_CHECK(actor.rank == member.rank && !actor.collective.valid());
    actor.collective = id;
    actor.member = i;
    collective.takes = std::max(collective.takes, actor.takes);
  }
  plan_.members.insert(plan_.members.end(), members.begin(), members.end());
  collective.members_end = static_cast<std::uint32_t>(plan_.members.size());
  return plan_.collectives.push_back(collective);
}

void PlanBuilder::set_program(ThreadId thread, std::vector<ActorId> acts) {
  Thread& target = plan_.threads[thread];
  PIPESIM_CHECK(target.order == ThreadOrder::kProgram);
  target.program = static_cast<std::uint32_t>(plan_.program.size());
  plan_.program.insert(plan_.program.end(), acts.begin(), acts.end());
  target.program_end = static_cast<std::uint32_t>(plan_.program.size());
}

Plan PlanBuilder::build() {
  check_programs();
  const std::vector<RegisterId> register_ids = lay_out_registers();
  const std::vector<EdgeId> edge_ids = lay_out_edges(register_ids);
  lay_out_inputs(edge_ids);
  lay_out_users();
  for (const Actor& actor : plan_.actors) plan_.act_count += actor.acts;
  PIPESIM_CHECK(plan_.actors.size() < kMostIds && plan_.edges.size() < kMostIds);
  PIPESIM_CHECK(plan_.communicators.size() < kMostIds);
  registers_.clear();
  consumers_.clear();
  return std::exchange(plan_, Plan());
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
    reg.acts_per_slot = pending.spec.acts_per_slot;
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
    edge.consumer = pending.consumer;
    edge.acts_per_slot = pending.acts_per_slot;
    const Actor& producer = plan_.actors[plan_.registers[edge.source].producer];
    const Actor& consumer = plan_.actors[pending.consumer];
    const bool one_thread = producer.thread == consumer.thread;
    edge.data_at_launch = one_thread && producer.immediate;
    edge.ack_at_launch = one_thread && consumer.immediate;
  }
  // In place only counts where the output can come back: it needs consumers of its own.
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
    const CollectiveId collective = plan_.actors[id].collective;
    if (!collective.valid()) continue;
    users.emplace_back(plan_.collectives[collective].communicator.value, id);
  }
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

void PlanBuilder::check_programs() const {
  std::vector<std::uint32_t> listed(plan_.actors.size(), 0);
  for (const ThreadId id : ids_of(plan_.threads)) {
    const Thread& thread = plan_.threads[id];
    for (std::uint32_t i = thread.program; i < thread.program_end; ++i) {
      PIPESIM_CHECK(plan_.actors[plan_.program[i]].thread == id, {"thread", id.value});
      ++listed[plan_.program[i].value];
    }
  }
  for (const ActorId id : ids_of(plan_.actors)) {
    const Actor& actor = plan_.actors[id];
    if (plan_.threads[actor.thread].order == ThreadOrder::kArrival) continue;
    PIPESIM_CHECK(listed[id.value] == actor.acts, {"actor", id.value}, {"acts", actor.acts});
  }
}

}  // namespace pipesim::sim
