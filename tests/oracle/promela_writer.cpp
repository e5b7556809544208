// Writes all tables as names and numbers, which are bytes in the model, some of them shorts.
#include "tests/oracle/promela_writer.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace pipesim::formats {
namespace {

using sim::ActorId;
using sim::CallId;
using sim::CollectiveId;
using sim::CommunicatorId;
using sim::DeviceId;
using sim::EdgeId;
using sim::Plan;
using sim::RankId;
using sim::RegisterId;
using sim::Role;
using sim::StreamId;
using sim::ThreadId;

constexpr std::uint32_t kNothing = 0xffffffff;  // written as -, in the model NONE
constexpr std::uint32_t kMaxShort = 32766;

using Numbers = std::vector<std::uint32_t>;

class Tables {
 public:
  explicit Tables(const Plan& plan) : plan_(plan) {
    add_counts();
    add_hosts();
    add_actors();
    add_registers();
    add_collectives();
    add_communicators();
    add_calls();
  }

  const std::string& text() const { return text_; }

 private:
  void add_counts();
  void add_hosts();
  void add_devices();
  void add_actors();
  void add_needs();
  void add_registers();
  void add_collectives();
  void add_communicators();
  void add_calls();
  void add_sorts();

  void add(const char* name, const Numbers& numbers);
  void add_number(const char* name, std::size_t number) {
    add(name, {static_cast<std::uint32_t>(number)});
  }

  /// Adds a table with a number for each item of `items`.
  template <typename Items, typename NumberOf>
  void add_each(const char* name, const Items& items, NumberOf number_of) {
    Numbers numbers;
    for (const auto& item : items) numbers.push_back(number_of(item));
    add(name, numbers);
  }

  std::uint32_t member_of(CommunicatorId id, RankId rank) const;
  std::uint32_t signature_of(const sim::Signature& signature);
  bool starts(const sim::Actor& actor) const;

  const Plan& plan_;
  std::string text_;
  std::vector<sim::Signature> signatures_;  // the distinct signatures
};

void Tables::add(const char* name, const Numbers& numbers) {
  text_ += name;
  const char* before = " = ";
  for (const std::uint32_t number : numbers) {
    text_ += before + (number == kNothing ? "-" : std::to_string(number));
    before = ", ";
  }
  text_ += '\n';
}

void Tables::add_counts() {
  add_number("threads", plan_.threads.size());
  add_number("streams", plan_.streams.size());
  add_number("actors", plan_.actors.size());
  add_number("collectives", plan_.collectives.size());
  add_number("communicators", plan_.communicators.size());
  add_number("calls", plan_.calls.size());
  add_number("channels", plan_.channels.size());
  add_number("acts", plan_.op_count);
}

void Tables::add_hosts() {
  Numbers is_program;
  Numbers begin;
  Numbers end;
  Numbers program;
  for (const sim::Thread& thread : plan_.threads) {
    is_program.push_back(thread.order == sim::ThreadOrder::kProgram ? 1 : 0);
    begin.push_back(static_cast<std::uint32_t>(program.size()));
    for (std::uint32_t i = thread.program; i < thread.program_end; ++i) {
      program.push_back(plan_.op(thread, i).value);
    }
    end.push_back(static_cast<std::uint32_t>(program.size()));
  }
  add("thread_program", is_program);
  add("thread_acts", begin);
  add("thread_acts_end", end);
  add("program", program);
  Numbers limits;
  for (const sim::Stream& stream : plan_.streams) {
    // A launch queue never holds more ops than the plan has.
    limits.push_back(std::min(stream.launch_queue, static_cast<std::uint32_t>(plan_.op_count)));
  }
  add("stream_limit", limits);
  add_each("stream_dependents", plan_.streams,
           [](const sim::Stream& stream) { return stream.dependents; });
  add_each("stream_dependents_end", plan_.streams,
           [](const sim::Stream& stream) { return stream.dependents_end; });
  add_each("dependents", plan_.dependents, [](StreamId stream) { return stream.value; });
  add_devices();
}

// Adds devices with limited kernel slots or queues; other devices are not in the model. All
// hardware queues share one numbering.
void Tables::add_devices() {
  Numbers device_of(plan_.devices.size(), kNothing);
  Numbers first_queue(plan_.devices.size(), 0);
  Numbers resident;
  Numbers order;
  Numbers holds;
  Numbers free;
  std::uint32_t queues = 0;
  for (const DeviceId id : ids_of(plan_.devices)) {
    const sim::Device& device = plan_.devices[id];
    if (!device.limited()) continue;
    device_of[id.value] = static_cast<std::uint32_t>(resident.size());
    first_queue[id.value] = queues;
    queues += device.hardware_queues;
    resident.push_back(device.resident == 0 ? kMaxShort : std::min(device.resident, kMaxShort));
    order.push_back(static_cast<std::uint32_t>(device.order));
    holds.push_back(device.holds_queues ? 1 : 0);
    free.push_back(device.starts_freely() ? 1 : 0);
  }
  Numbers devices;
  Numbers queue_of;
  for (const sim::Stream& stream : plan_.streams) {
    const bool limited = stream.device.valid() && plan_.devices[stream.device].limited();
    const bool queued = limited && plan_.devices[stream.device].hardware_queues > 0;
    devices.push_back(limited ? device_of[stream.device.value] : kNothing);
    queue_of.push_back(queued ? first_queue[stream.device.value] + stream.hardware_queue
                              : kNothing);
  }
  add("stream_device", devices);
  add("stream_hardware_queue", queue_of);
  add("device_resident", resident);
  add("device_order", order);
  add("device_holds", holds);
  add("device_free", free);
}

bool Tables::starts(const sim::Actor& actor) const {
  for (std::uint32_t i = actor.inputs; i < actor.inputs_end; ++i) {
    if (!plan_.registers[plan_.edges[plan_.inputs[i]].source].control) return false;
  }
  return true;
}

void Tables::add_actors() {
  const auto each = [&](const char* name, auto number_of) {
    add_each(name, plan_.actors, number_of);
  };
  using Actor = sim::Actor;
  each("actor_thread", [](const Actor& actor) { return actor.thread.value; });
  each("actor_stream", [](const Actor& actor) { return actor.stream.value; });
  each("actor_role", [](const Actor& actor) { return static_cast<std::uint32_t>(actor.role); });
  // A source that waits for outside input requests one item more than its work needs.
  each("actor_limit", [](const Actor& actor) { return actor.ops + (actor.input.waits ? 1 : 0); });
  each("actor_items",
       [](const Actor& actor) { return actor.input.waits ? actor.input.items : kNothing; });
  each("actor_blocking", [](const Actor& actor) { return actor.blocking ? 1U : 0U; });
  each("actor_starts", [&](const Actor& actor) { return starts(actor) ? 1U : 0U; });
  each("actor_collective", [](const Actor& actor) { return actor.collective.value; });
  each("actor_object", [](const Actor& actor) {
    return actor.signal.valid() ? actor.signal.value : actor.lock.value;
  });
  each("actor_times", [&](const Actor& actor) {
    const bool counts = actor.signal.valid() && plan_.signals[actor.signal].recorded();
    return counts ? kNothing : actor.times;
  });
  each("actor_inputs", [](const Actor& actor) { return actor.inputs; });
  each("actor_inputs_end", [](const Actor& actor) { return actor.inputs_end; });
  each("actor_registers", [](const Actor& actor) { return actor.registers; });
  each("actor_registers_end", [](const Actor& actor) { return actor.registers_end; });
  each("actor_behind", [](const Actor& actor) { return actor.behind.value; });
  each("actor_afters", [](const Actor& actor) { return actor.afters; });
  each("actor_afters_end", [](const Actor& actor) { return actor.afters_end; });
  each("actor_streams", [](const Actor& actor) { return actor.streams; });
  each("actor_streams_end", [](const Actor& actor) { return actor.streams_end; });
  each("actor_collects", [](const Actor& actor) { return actor.collects ? 1U : 0U; });
  each("actor_calls", [](const Actor& actor) { return actor.calls; });
  each("actor_calls_end", [](const Actor& actor) { return actor.calls_end; });
  add_each("inputs", plan_.inputs, [](EdgeId edge) { return edge.value; });
  add_each("synchronized", plan_.synchronized, [](StreamId stream) { return stream.value; });
  add_each("after_actor", plan_.afters, [](const sim::After& after) { return after.actor.value; });
  add_each("after_ahead", plan_.afters, [](const sim::After& after) { return after.ahead; });
  add_needs();
}

// Adds the communicators that each op needs, in order.
void Tables::add_needs() {
  Numbers begin;
  Numbers end;
  Numbers communicators;
  Numbers ranks;
  const auto need = [&](CommunicatorId id, std::uint32_t rank) {
    communicators.push_back(id.value);
    ranks.push_back(rank);
  };
  for (const ActorId id : ids_of(plan_.actors)) {
    const sim::Actor& actor = plan_.actors[id];
    begin.push_back(static_cast<std::uint32_t>(ranks.size()));
    if (actor.collective.valid()) {
      const CommunicatorId communicator = plan_.collectives[actor.collective].communicator;
      need(communicator, member_of(communicator, actor.rank));
    } else if (actor.communicator.valid()) {
      need(actor.communicator, member_of(actor.communicator, actor.rank));
    }
    for (const CallId call : plan_.calls_of(id)) {
      need(plan_.calls[call].communicator, plan_.calls[call].member);
    }
    end.push_back(static_cast<std::uint32_t>(ranks.size()));
  }
  add("actor_needs", begin);
  add("actor_needs_end", end);
  add("need_communicator", communicators);
  add("need_rank", ranks);
}

std::uint32_t Tables::member_of(CommunicatorId id, RankId rank) const {
  const auto begin = plan_.communicator_ranks.begin();
  const auto found = std::lower_bound(begin + plan_.communicators[id].ranks,
                                      begin + plan_.communicators[id].ranks_end, rank);
  return static_cast<std::uint32_t>(found - begin);
}

void Tables::add_registers() {
  const auto each = [&](const char* name, auto number_of) {
    add_each(name, plan_.registers, number_of);
  };
  using Register = sim::Register;
  each("register_producer", [](const Register& reg) { return reg.producer.value; });
  each("register_slots", [](const Register& reg) { return reg.slots; });
  each("register_acts", [](const Register& reg) { return reg.ops_per_slot; });
  each("register_drain", [](const Register& reg) { return reg.drain_every; });
  each("register_in_place", [](const Register& reg) { return reg.in_place.value; });
  each("register_edges", [](const Register& reg) { return reg.edges; });
  each("register_edges_end", [](const Register& reg) { return reg.edges_end; });
  const auto each_edge = [&](const char* name, auto number_of) {
    add_each(name, plan_.edges, number_of);
  };
  using Edge = sim::Edge;
  each_edge("edge_register", [](const Edge& edge) { return edge.source.value; });
  each_edge("edge_consumer", [](const Edge& edge) { return edge.consumer.value; });
  each_edge("edge_acts", [](const Edge& edge) { return edge.ops_per_slot; });
  each_edge("edge_data_at_launch", [](const Edge& edge) { return edge.data_at_launch ? 1U : 0U; });
  each_edge("edge_ack_at_launch", [](const Edge& edge) { return edge.ack_at_launch ? 1U : 0U; });
  each_edge("edge_in_place", [](const Edge& edge) { return edge.in_place.valid() ? 1U : 0U; });
}

void Tables::add_collectives() {
  const auto each = [&](const char* name, auto number_of) {
    add_each(name, plan_.collectives, number_of);
  };
  each("collective_members", [](const sim::Collective& it) { return it.members; });
  each("collective_members_end", [](const sim::Collective& it) { return it.members_end; });
  add_each("member_actor", plan_.members,
           [](const sim::Member& member) { return member.actor.value; });
}

void Tables::add_communicators() {
  const auto each = [&](const char* name, auto number_of) {
    add_each(name, plan_.communicators, number_of);
  };
  using Communicator = sim::Communicator;
  each("communicator_exists", [](const Communicator& it) { return it.at_first_use ? 0U : 1U; });
  each("communicator_waits", [](const Communicator& it) { return it.waits_for_device ? 1U : 0U; });
  each("communicator_ranks", [](const Communicator& it) { return it.ranks; });
  each("communicator_ranks_end", [](const Communicator& it) { return it.ranks_end; });
  Numbers begin;
  Numbers end;
  Numbers streams;
  for (const Communicator& communicator : plan_.communicators) {
    begin.push_back(static_cast<std::uint32_t>(streams.size()));
    for (const StreamId stream : ids_of(plan_.streams)) {
      if (!communicator.waits_for_device) continue;
      const auto ranks = plan_.communicator_ranks.begin();
      if (std::binary_search(ranks + communicator.ranks, ranks + communicator.ranks_end,
                             plan_.streams[stream].rank)) {
        streams.push_back(stream.value);
      }
    }
    end.push_back(static_cast<std::uint32_t>(streams.size()));
  }
  add("communicator_streams", begin);
  add("communicator_streams_end", end);
  add("stream_of_communicator", streams);
}

// Returns the number of a signature among the distinct signatures. The model only compares these
// numbers for equality.
std::uint32_t Tables::signature_of(const sim::Signature& signature) {
  const auto found = std::find(signatures_.begin(), signatures_.end(), signature);
  const auto number = static_cast<std::uint32_t>(found - signatures_.begin());
  if (found == signatures_.end()) signatures_.push_back(signature);
  return number;
}

// Adds, for each execution of a send or recv, a number for the properties that must match: those of
// its signature, with the tag in place of the root.
void Tables::add_sorts() {
  Numbers begin;
  Numbers sorts;
  for (const sim::Call& call : plan_.calls) {
    begin.push_back(static_cast<std::uint32_t>(sorts.size()));
    if (call.kind == sim::CallKind::kCollective) continue;
    sim::Signature sort = call.signature;
    sort.operation = 0;
    for (std::uint32_t k = 0; k < plan_.actors[call.actor].ops; ++k) {
      sort.root = call.tag + k * call.tag_step;
      sorts.push_back(signature_of(sort));
    }
  }
  add("call_sorts", begin);
  add("sorts", sorts);
}

void Tables::add_calls() {
  const auto each = [&](const char* name, auto number_of) {
    add_each(name, plan_.calls, number_of);
  };
  using Call = sim::Call;
  each("call_actor", [](const Call& call) { return call.actor.value; });
  each("call_kind", [](const Call& call) { return static_cast<std::uint32_t>(call.kind); });
  each("call_eager", [](const Call& call) { return call.buffered ? 1U : 0U; });
  each("call_steps", [](const Call& call) { return std::uint32_t{call.steps}; });
  each("call_communicator", [](const Call& call) { return call.communicator.value; });
  each("call_rank", [](const Call& call) { return call.member; });
  each("call_channel", [](const Call& call) { return call.channel.value; });
  // The first call of a chain identifies the chain.
  each("call_chain", [this](const Call& call) {
    return call.chain.valid() ? plan_.chained[plan_.chains[call.chain].calls].value : kNothing;
  });
  each("call_stage", [](const Call& call) { return call.stage; });
  each("call_signature", [this](const Call& call) { return signature_of(call.signature); });
  add_sorts();
}

}  // namespace

std::string promela_obstacle(const Plan& plan) {
  if (plan.faulty) return "it has faults or timeouts";
  if (!plan.sources.empty()) return "a recv takes the message of any rank";
  if (!plan.lines.empty()) return "calls of a communicator are on several streams";
  if (std::any_of(plan.devices.begin(), plan.devices.end(),
                  [](const sim::Device& device) { return device.launch_queue > 0; })) {
    return "the streams of a device share a launch queue";
  }
  if (std::any_of(plan.actors.begin(), plan.actors.end(),
                  [](const sim::Actor& actor) { return actor.drains; })) {
    return "a step ends the calls on a communicator, or waits for them";
  }
  if (!plan.meetings.empty()) return "hosts meet at first use or to split (try --reading contract)";
  if (plan.open) return "ranks leave a collective before others have come (try --reading contract)";
  if (std::any_of(plan.actors.begin(), plan.actors.end(), [&](const sim::Actor& actor) {
        const bool placed = actor.stream.valid() && plan.streams[actor.stream].device.valid();
        return placed && sim::needs_slot(actor.role) && actor.kernel_slots != 1 &&
               plan.devices[plan.streams[actor.stream].device].resident > 0;
      })) {
    return "kernels need several SMs";
  }
  return "";
}

std::string promela_tables(const Plan& plan) { return Tables(plan).text(); }

}  // namespace pipesim::formats
