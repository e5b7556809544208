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
  spec.acts = number(actor.acts);
  spec.immediate = actor.immediate;
  spec.blocking = actor.blocking;
  spec.input.waits = actor.outside.waits;
  spec.input.items = number(actor.outside.items);
  spec.input.first = sim::Duration{actor.outside.first};
  spec.input.every = sim::Duration{actor.outside.every};
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
}

/// An output can be set in place only right after the edge that it reuses was added.
void add_edges(const Spec& spec, sim::PlanBuilder& builder) {
  std::vector<sim::PlanBuilder::Output> outputs;
  for (const Register& reg : spec.registers) {
    sim::RegisterSpec output;
    output.slots = number(reg.slots);
    output.acts_per_slot = number(reg.acts_per_slot);
    output.drain_every = number(reg.drain_every);
    output.control = reg.control;
    outputs.push_back(builder.add_register(sim::ActorId{number(reg.producer)}, output));
  }
  for (int e = 0; e < count_of(spec.edges); ++e) {
    const Edge& edge = at(spec.edges, e);
    builder.add_consumer(at(outputs, edge.reg), sim::ActorId{number(edge.consumer)},
                         number(edge.acts_per_slot));
    for (int r : registers_of(spec, edge.consumer)) {
      if (in_place_edge(spec, r) == e) builder.set_in_place(at(outputs, r));
    }
  }
}

void add_groups(const Spec& spec, sim::PlanBuilder& builder) {
  for (const Communicator& communicator : spec.communicators) {
    std::vector<sim::RankId> ranks;
    for (int rank : communicator.ranks) ranks.push_back(sim::RankId{number(rank)});
    builder.add_communicator(ranks, communicator.at_first_use, communicator.waits_for_device);
  }
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
    std::vector<sim::ActorId> acts;
    for (int actor : at(spec.threads, t).list) acts.push_back(sim::ActorId{number(actor)});
    builder.set_program(sim::ThreadId{number(t)}, acts);
  }
}

}  // namespace

sim::Plan to_plan(const Spec& spec) {
  sim::PlanBuilder builder(number(spec.ranks));
  add_hosts(spec, builder);
  for (const Actor& actor : spec.actors) builder.add_actor(actor_spec(actor));
  add_edges(spec, builder);
  add_groups(spec, builder);
  add_programs(spec, builder);
  return builder.build();
}

}  // namespace pipesim::twin
