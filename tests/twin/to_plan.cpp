#include "tests/twin/to_plan.hpp"

#include <cstdint>
#include <vector>

namespace pipesim::twin {
namespace {

std::uint32_t number(int value) { return static_cast<std::uint32_t>(value); }

sim::ActorSpec actor_spec(const Actor& actor) {
  sim::ActorSpec spec;
  spec.thread = sim::ThreadId{number(actor.thread)};
  spec.stream = sim::StreamId{number(actor.stream)};
  spec.takes = sim::Duration{actor.takes};
  spec.launch_overhead = sim::Duration{actor.launch_overhead};
  spec.ops = number(actor.ops);
  spec.immediate = actor.immediate;
  spec.blocking = actor.blocking;
  spec.input.waits = actor.outside.waits;
  spec.input.items = number(actor.outside.items);
  spec.input.first = sim::Duration{actor.outside.first};
  spec.input.every = sim::Duration{actor.outside.every};
  spec.kernel_slots = number(actor.kernel_slots);
  spec.gang = number(actor.gang);
  return spec;
}

void add_hosts(const Spec& spec, sim::PlanBuilder& builder) {
  for (const Thread& thread : spec.threads) {
    builder.add_thread(sim::RankId{number(thread.rank)},
                       thread.program ? sim::ThreadOrder::kProgram : sim::ThreadOrder::kArrival);
  }
  for (const Stream& stream : spec.streams) {
    builder.add_stream(sim::RankId{number(stream.rank)}, number(stream.launch_queue));
  }
  for (const Signal& signal : spec.signals) {
    (void)signal;  // the builder marks events with a record as recorded
    builder.add_signal();
  }
  for (const Lock& lock : spec.locks) builder.add_lock(sim::RankId{number(lock.rank)});
}

void add_devices(const Spec& spec, sim::PlanBuilder& builder) {
  for (const Device& device : spec.devices) {
    sim::DeviceSpec made;
    made.hardware_queues = number(device.hardware_queues);
    made.resident = number(device.resident);
    made.order = static_cast<sim::LaunchOrder>(device.order);
    made.holds_queues = device.holds_queues;
    made.launch_queue = number(device.launch_queue);
    builder.add_device(sim::RankId{number(device.rank)}, made);
  }
  for (int s = 0; s < count_of(spec.streams); ++s) {
    const int device = at(spec.streams, s).device;
    if (device < 0) continue;
    builder.put_on_device(sim::StreamId{number(s)}, sim::DeviceId{number(device)});
  }
}

template <typename Id>
Id id_of(int value) {
  return value < 0 ? Id{} : Id{number(value)};
}

sim::Role role_of(Role role) {
  for (const auto& [twin, engine] : kRolePairs) {
    if (twin == role) return engine;
  }
  return sim::Role::kOp;
}

sim::CallSpec call_spec(const Call& call) {
  sim::CallSpec spec;
  spec.communicator = sim::CommunicatorId{number(call.communicator)};
  if (call.kind == CallKind::kSend) spec.kind = sim::CallKind::kSend;
  if (call.kind == CallKind::kReceive) spec.kind = sim::CallKind::kReceive;
  spec.peer = id_of<sim::RankId>(call.peer);
  spec.buffered = call.buffered;
  spec.flow = static_cast<sim::Flow>(call.flow);
  spec.steps = static_cast<std::uint8_t>(call.steps);
  spec.connection = number(call.connection);
  spec.connects_pairs = call.connects_pairs;
  spec.signature.operation = number(call.signature.operation);
  spec.signature.root = number(call.signature.root);
  spec.signature.type = number(call.signature.type);
  spec.signature.count = call.signature.count;
  spec.tag = static_cast<std::uint32_t>(call.tag);
  spec.tag_step = static_cast<std::uint32_t>(call.tag_step);
  spec.takes = sim::Duration{call.takes};
  spec.link = id_of<sim::LinkId>(call.link);
  spec.fatal = call.fatal;
  return spec;
}

void add_step(const Actor& actor, sim::PlanBuilder& builder) {
  const sim::ActorSpec common = actor_spec(actor);
  sim::StepSpec spec;
  spec.role = role_of(actor.role);
  spec.thread = common.thread;
  spec.stream = id_of<sim::StreamId>(actor.stream);
  spec.launch_overhead = common.launch_overhead;
  spec.ops = common.ops;
  spec.blocking = common.blocking;
  spec.input = common.input;
  spec.signal = id_of<sim::SignalId>(actor.signal);
  spec.lock = id_of<sim::LockId>(actor.lock);
  spec.communicator = id_of<sim::CommunicatorId>(actor.aborted >= 0   ? actor.aborted
                                                 : actor.drained >= 0 ? actor.drained
                                                                      : actor.communicator);
  spec.drains = actor.drained >= 0;
  spec.meeting = id_of<sim::MeetingId>(actor.meeting);
  spec.times = number(actor.times);
  spec.timeout = sim::Duration{actor.timeout};
  spec.kernel_slots = number(actor.kernel_slots);
  spec.gang = number(actor.gang);
  spec.unordered = actor.unordered;
  builder.add_step(spec);
  for (const Call& call : actor.calls) builder.add_call(call_spec(call));
  const bool waits = actor.role == Role::kSynchronize || actor.role == Role::kMeet;
  if (!waits || actor.drained >= 0) return;
  std::vector<sim::StreamId> streams;
  for (int stream : actor.synchronized) streams.push_back(sim::StreamId{number(stream)});
  builder.set_synchronized(streams);
}

void add_actors(const Spec& spec, sim::PlanBuilder& builder) {
  for (const Actor& actor : spec.actors) {
    if (actor.role == Role::kOp) {
      builder.add_actor(actor_spec(actor));
    } else {
      add_step(actor, builder);
    }
  }
}

void add_afters(const Spec& spec, sim::PlanBuilder& builder) {
  for (int a = 0; a < count_of(spec.actors); ++a) {
    const sim::ActorId id{number(a)};
    for (const After& after : at(spec.actors, a).afters) {
      builder.add_after(id, sim::ActorId{number(after.actor)}, number(after.ahead));
    }
    if (at(spec.actors, a).behind < 0) continue;
    builder.set_behind(id, sim::StreamId{number(at(spec.actors, a).behind)});
  }
}

/// Adds the edges. An output can be set in place only directly after the edge that it reuses.
void add_edges(const Spec& spec, sim::PlanBuilder& builder) {
  std::vector<sim::PlanBuilder::Output> outputs;
  for (const Register& reg : spec.registers) {
    sim::RegisterSpec output;
    output.slots = number(reg.slots);
    output.ops_per_slot = number(reg.ops_per_slot);
    output.drain_every = number(reg.drain_every);
    output.control = reg.control;
    outputs.push_back(builder.add_register(sim::ActorId{number(reg.producer)}, output));
  }
  for (int e = 0; e < count_of(spec.edges); ++e) {
    const Edge& edge = at(spec.edges, e);
    builder.add_consumer(at(outputs, edge.reg), sim::ActorId{number(edge.consumer)},
                         number(edge.ops_per_slot));
    for (int r : registers_of(spec, edge.consumer)) {
      if (in_place_edge(spec, r) == e) builder.set_in_place(at(outputs, r));
    }
  }
}

void add_communicators(const Spec& spec, sim::PlanBuilder& builder) {
  for (const Communicator& communicator : spec.communicators) {
    std::vector<sim::RankId> ranks;
    for (int rank : communicator.ranks) ranks.push_back(sim::RankId{number(rank)});
    const sim::CommunicatorId id =
        builder.add_communicator(ranks, communicator.at_first_use, communicator.waits_for_device);
    if (communicator.connects) builder.connect_at_first_use(id);
    if (communicator.on_host) builder.set_on_host(id);
    if (communicator.in_calls) builder.set_in_calls(id);
  }
  for (const Meeting& meeting : spec.meetings) {
    std::vector<sim::RankId> ranks;
    for (int rank : meeting.ranks) ranks.push_back(sim::RankId{number(rank)});
    builder.add_meeting(sim::CommunicatorId{number(meeting.communicator)}, ranks);
  }
}

void add_collectives(const Spec& spec, sim::PlanBuilder& builder) {
  for (const Collective& collective : spec.collectives) {
    std::vector<sim::Member> members;
    for (const Member& member : collective.members) {
      sim::Member made;
      made.rank = sim::RankId{number(member.rank)};
      if (member.actor >= 0) made.actor = sim::ActorId{number(member.actor)};
      members.push_back(made);
    }
    builder.add_collective(sim::CommunicatorId{number(collective.communicator)}, members);
  }
}

void add_programs(const Spec& spec, sim::PlanBuilder& builder) {
  for (int t = 0; t < count_of(spec.threads); ++t) {
    if (!at(spec.threads, t).program) continue;
    std::vector<sim::ActorId> ops;
    for (int actor : at(spec.threads, t).list) ops.push_back(sim::ActorId{number(actor)});
    builder.set_program(sim::ThreadId{number(t)}, ops);
  }
}

sim::CommunicatorFaults faults_of(const Communicator& communicator) {
  sim::CommunicatorFaults faults;
  faults.link = id_of<sim::LinkId>(communicator.link);
  faults.timeout = sim::Duration{communicator.timeout};
  faults.init_timeout = sim::Duration{communicator.init_timeout};
  for (int link : communicator.links) faults.arrival_links.push_back(id_of<sim::LinkId>(link));
  return faults;
}

void add_links(const Spec& spec, sim::PlanBuilder& builder) {
  for (const Link& link : spec.links) {
    builder.add_link({sim::RankId{number(link.a)}, sim::RankId{number(link.b)},
                      sim::Time{link.down}, sim::Duration{link.retry}});
  }
}

void add_faults(const Spec& spec, sim::PlanBuilder& builder) {
  for (const Death& death : spec.deaths) {
    builder.add_death(sim::RankId{number(death.rank)}, sim::Time{death.at});
  }
  for (int a = 0; a < count_of(spec.actors); ++a) {
    const Actor& actor = at(spec.actors, a);
    if (actor.dies_at >= 0) builder.set_dies_at(sim::ActorId{number(a)}, number(actor.dies_at));
    if (actor.fails_at >= 0) builder.set_fails_at(sim::ActorId{number(a)}, number(actor.fails_at));
  }
  for (int c = 0; c < count_of(spec.communicators); ++c) {
    builder.set_communicator_faults(sim::CommunicatorId{number(c)},
                                    faults_of(at(spec.communicators, c)));
  }
  sim::Timeouts timeouts;
  timeouts.poll = sim::Duration{spec.poll};
  timeouts.launcher = sim::Duration{spec.launcher};
  for (int host : spec.host_of_rank) timeouts.host.push_back(number(host));
  builder.set_timeouts(timeouts);
}

}  // namespace

sim::Plan to_plan(const Spec& spec) {
  sim::PlanBuilder builder(number(spec.ranks));
  add_hosts(spec, builder);
  add_devices(spec, builder);
  add_communicators(spec, builder);
  add_links(spec, builder);
  add_actors(spec, builder);
  add_afters(spec, builder);
  add_edges(spec, builder);
  add_collectives(spec, builder);
  add_programs(spec, builder);
  if (has_faults(spec)) add_faults(spec, builder);
  return builder.build();
}

}  // namespace pipesim::twin
