#include <algorithm>
#include <utility>
#include <vector>

#include "tests/twin/to_plan.hpp"

namespace pipesim::twin {
namespace {

template <typename Id>
int number(Id id) {
  return id.valid() ? static_cast<int>(id.value) : -1;
}

Role role_of(sim::Role role) {
  for (const auto& [twin, engine] : kRolePairs) {
    if (engine == role) return twin;
  }
  return Role::kOp;
}

Call call_of(const sim::Plan& plan, const sim::Call& from) {
  Call call;
  call.communicator = number(from.communicator);
  if (from.kind != sim::CallKind::kCollective) {
    call.kind = from.kind == sim::CallKind::kSend ? CallKind::kSend : CallKind::kReceive;
    call.peer = from.from_any() ? -1 : number(plan.communicator_ranks[from.peer]);
  }
  call.flow = static_cast<Flow>(from.flow);
  if (call.flow != Flow::kAll) call.peer = number(plan.communicator_ranks[from.peer]);
  call.buffered = from.buffered;
  call.steps = from.steps;
  call.connection = static_cast<int>(from.connection);
  call.connects_pairs = from.connects_pairs;
  call.signature = {static_cast<int>(from.signature.operation),
                    static_cast<int>(from.signature.root), from.signature.count,
                    static_cast<int>(from.signature.type)};
  call.tag = from.tag;
  call.tag_step = from.tag_step;
  call.takes = from.takes.ns;
  call.fatal = from.fatal;
  call.link = number(from.link);
  return call;
}

Actor actor_of(const sim::Plan& plan, const sim::Actor& from) {
  Actor actor;
  actor.thread = number(from.thread);
  actor.stream = number(from.stream);
  actor.takes = from.takes.ns;
  actor.launch_overhead = from.launch_overhead.ns;
  actor.ops = static_cast<int>(from.ops);
  actor.immediate = from.immediate;
  actor.blocking = from.blocking;
  actor.outside = {from.input.waits, static_cast<int>(from.input.items), from.input.first.ns,
                   from.input.every.ns};
  actor.collective = number(from.collective);
  actor.role = role_of(from.role);
  actor.signal = number(from.signal);
  actor.times = static_cast<int>(from.times);
  actor.lock = number(from.lock);
  if (!from.drains) actor.communicator = number(from.communicator);
  if (from.role == sim::Role::kAbort) actor.aborted = number(from.communicator);
  // A step has no streams if it never waits, or if its rank has no calls to wait for.
  const bool waits = from.drains && from.streams != from.streams_end;
  if (waits) actor.drained = number(from.communicator);
  if (from.role == sim::Role::kMeet) actor.meeting = number(plan.needs[from.needs].meeting);
  actor.dies_at = from.dies_at == sim::kNoOp ? -1 : static_cast<int>(from.dies_at);
  actor.fails_at = from.fails_at == sim::kNoOp ? -1 : static_cast<int>(from.fails_at);
  actor.timeout = from.timeout.ns;
  if (actor.role == Role::kOp || actor.role == Role::kCalls) {
    actor.kernel_slots = static_cast<int>(from.kernel_slots);
  }
  actor.gang = static_cast<int>(from.gang);
  actor.unordered = from.unordered;
  for (const sim::CallId call : sim::IdRange<sim::CallId>(from.calls, from.calls_end)) {
    actor.calls.push_back(call_of(plan, plan.calls[call]));
  }
  for (std::uint32_t i = from.streams; i < from.streams_end && !from.drains; ++i) {
    actor.synchronized.push_back(number(plan.synchronized[i]));
  }
  for (std::uint32_t i = from.afters; i < from.afters_end; ++i) {
    const sim::After& after = plan.afters[i];
    actor.afters.push_back({number(after.actor), static_cast<int>(after.ahead)});
  }
  actor.behind = number(from.behind);
  return actor;
}

void add_hosts(const sim::Plan& plan, Spec& spec) {
  for (const sim::Thread& from : plan.threads) {
    Thread thread{number(from.rank), from.order == sim::ThreadOrder::kProgram, {}};
    for (std::uint32_t i = from.program; i < from.program_end; ++i) {
      thread.list.push_back(number(plan.op(from, i)));
    }
    spec.threads.push_back(std::move(thread));
  }
  for (const sim::Stream& from : plan.streams) {
    spec.streams.push_back({number(from.rank), static_cast<int>(from.launch_queue),
                            number(from.device), static_cast<int>(from.hardware_queue)});
  }
  for (const sim::Device& from : plan.devices) {
    spec.devices.push_back({number(from.rank), static_cast<int>(from.hardware_queues),
                            static_cast<int>(from.resident), static_cast<Order>(from.order),
                            from.holds_queues, static_cast<int>(from.launch_queue)});
  }
  for (const sim::Signal& from : plan.signals) spec.signals.push_back({from.recorded()});
  for (const sim::RankId rank : plan.locks) spec.locks.push_back({number(rank)});
}

/// Copies links, timeouts and so on. If no rank of the communicator has a link, the list of links
/// is empty.
void add_faults(const sim::Plan& plan, const sim::Communicator& from, Communicator& communicator) {
  communicator.link = number(from.link);
  communicator.timeout = from.timeout.ns;
  communicator.init_timeout = from.init_timeout.ns;
  bool has_links = false;
  for (std::uint32_t i = from.ranks; i < from.ranks_end && !plan.arrival_links.empty(); ++i) {
    communicator.links.push_back(number(plan.arrival_links[i]));
    has_links = has_links || plan.arrival_links[i].valid();
  }
  if (!has_links) communicator.links.clear();
}

void add_faults(const sim::Plan& plan, Spec& spec) {
  for (const sim::Death& death : plan.deaths) {
    spec.deaths.push_back({number(death.rank), death.at.ns});
  }
  for (const sim::Link& link : plan.links) {
    spec.links.push_back({number(link.first), number(link.second), link.down.ns, link.retry.ns});
  }
  spec.poll = plan.timeouts.poll.ns;
  spec.launcher = plan.timeouts.launcher.ns;
  for (const std::uint32_t host : plan.timeouts.host) {
    spec.host_of_rank.push_back(static_cast<int>(host));
  }
}

void add_groups(const sim::Plan& plan, Spec& spec) {
  for (const sim::Collective& from : plan.collectives) {
    Collective collective{number(from.communicator), {}};
    for (std::uint32_t i = from.members; i < from.members_end; ++i) {
      collective.members.push_back({number(plan.members[i].rank), number(plan.members[i].actor)});
    }
    spec.collectives.push_back(std::move(collective));
  }
  // Meetings of first use come after the meetings of hosts, and a Spec lacks them.
  for (const sim::Meeting& from : plan.meetings) {
    if (from.kind != sim::MeetingKind::kHosts) continue;
    Meeting meeting{{}, number(from.communicator)};
    for (std::uint32_t i = from.ranks; i < from.ranks_end; ++i) {
      meeting.ranks.push_back(number(plan.meeting_ranks[i]));
    }
    spec.meetings.push_back(std::move(meeting));
  }
  for (const sim::Communicator& from : plan.communicators) {
    Communicator communicator{{}, from.at_first_use, from.waits_for_device};
    for (std::uint32_t i = from.ranks; i < from.ranks_end; ++i) {
      communicator.ranks.push_back(number(plan.communicator_ranks[i]));
    }
    add_faults(plan, from, communicator);
    communicator.connects = from.connects;
    communicator.on_host = from.on_host;
    communicator.in_calls = from.in_calls;
    spec.communicators.push_back(std::move(communicator));
  }
}

// Returns the edges in an order that fits both registers and actors, because a Spec has only one
// list of edges. The plan lists the edges of each register and of each actor in separate orders.
// Lowering adds edges consumer by consumer, so the consumers' order fits both.
std::vector<sim::EdgeId> edges_in_order(const sim::Plan& plan) {
  std::vector<sim::EdgeId> order;
  for (const sim::ActorId id : ids_of(plan.actors)) {
    const sim::Actor& actor = plan.actors[id];
    for (std::uint32_t i = actor.inputs; i < actor.inputs_end; ++i) order.push_back(plan.inputs[i]);
  }
  return order;
}

}  // namespace

Spec from_plan(const sim::Plan& plan) {
  Spec spec;
  spec.ranks = static_cast<int>(plan.rank_count);
  add_hosts(plan, spec);
  for (const sim::Actor& actor : plan.actors) spec.actors.push_back(actor_of(plan, actor));
  for (const sim::Register& from : plan.registers) {
    Register reg{number(from.producer),
                 static_cast<int>(from.slots),
                 static_cast<int>(from.ops_per_slot),
                 static_cast<int>(from.drain_every),
                 from.control,
                 -1};
    const sim::Actor& producer = plan.actors[from.producer];
    for (std::uint32_t i = producer.inputs; i < producer.inputs_end; ++i) {
      if (from.in_place.valid() && plan.inputs[i] == from.in_place) {
        reg.in_place = static_cast<int>(i - producer.inputs);
      }
    }
    spec.registers.push_back(reg);
  }
  for (const sim::EdgeId id : edges_in_order(plan)) {
    const sim::Edge& edge = plan.edges[id];
    spec.edges.push_back(
        {number(edge.source), number(edge.consumer), static_cast<int>(edge.ops_per_slot)});
  }
  add_groups(plan, spec);
  add_faults(plan, spec);
  return spec;
}

}  // namespace pipesim::twin
